// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/xfrm"
)

// told is a change as Linux tells it: "+", "=" in place of one of the metric, "&" behind those, or
// "-".
func told(how, prefix string, metric uint32, gateways ...string) punt.RouteChange {
	r := *via(prefix, gateways...).Route
	r.Metric = metric
	return punt.RouteChange{Route: r, Gone: how == "-", Replaces: how == "=", Behind: how == "&"}
}

// text is what a table gives out.
func text(changes []learned.Change) string {
	var out []string
	for _, c := range changes {
		if c.Route == nil {
			out = append(out, c.Prefix.String()+" gone")
		} else {
			out = append(out, fmt.Sprint(c.Prefix, c.Route.Via, c.Route.Metric))
		}
	}
	return strings.Join(out, "; ")
}

func wantTaken(t *testing.T, table *Table, want string) {
	t.Helper()
	if got := text(table.Take(100)); got != want {
		t.Errorf("the table gives %s, want %s", got, want)
	}
}

// TestMetrics: the lowest metric of a prefix counts, and of one metric the first, as in Linux.
func TestMetrics(t *testing.T) {
	const p, p6 = "10.2.0.0/16", "2001:db8::/32"
	table := NewTable(10)
	for _, step := range []struct {
		change punt.RouteChange
		want   string
	}{
		{told("+", p, 20, "10.1.0.2"), "10.2.0.0/16 [10.1.0.2] 20"},
		{told("+", p, 30, "10.1.0.3"), "10.2.0.0/16 [10.1.0.2] 20"},
		{told("+", p, 10, "10.1.0.4"), "10.2.0.0/16 [10.1.0.4] 10"},
		{told("=", p, 10, "10.1.0.5"), "10.2.0.0/16 [10.1.0.5] 10"},
		{told("&", p, 10, "10.1.0.6"), "10.2.0.0/16 [10.1.0.5] 10"},
		{told("-", p, 10, "10.1.0.5"), "10.2.0.0/16 [10.1.0.6] 10"},
		{told("-", p, 10, "10.1.0.6"), "10.2.0.0/16 [10.1.0.2] 20"},
		{told("-", p, 40, "10.1.0.6"), ""},
		{told("-", p, 20, "10.1.0.2"), "10.2.0.0/16 [10.1.0.3] 30"},
		{told("-", p, 30, "10.1.0.3"), "10.2.0.0/16 gone"},
		{told("+", p6, 5, "fe80::1"), "2001:db8::/32 [fe80::1] 5"},
		{told("&", p6, 5, "fe80::1", "fe80::2"), "2001:db8::/32 [fe80::1 fe80::2] 5"},
		{told("-", p6, 5, "fe80::1"), "2001:db8::/32 [fe80::2] 5"},
		{told("-", p6, 5, "fe80::2"), "2001:db8::/32 gone"},
	} {
		table.Change(step.change)
		wantTaken(t, table, step.want)
	}
}

// TestDump: of all routes that Linux tells again those that are others have changed, and those that
// it does not tell are gone.
func TestDump(t *testing.T) {
	table := NewTable(10)
	table.Begin()
	for n := range 3 {
		table.Change(told("&", fmt.Sprintf("10.%d.0.0/16", n), 20, "10.1.0.2"))
	}
	if table.Waits() {
		t.Error("a table gives out half of what Linux tells")
	}
	table.Dumped()
	wantTaken(t, table, "10.0.0.0/16 [10.1.0.2] 20; 10.1.0.0/16 [10.1.0.2] 20; 10.2.0.0/16 [10.1.0.2] 20")
	table.Begin()
	table.Change(told("&", "10.0.0.0/16", 20, "10.1.0.2"))
	table.Change(told("&", "10.1.0.0/16", 20, "10.1.0.3"))
	table.Change(told("&", "10.3.0.0/16", 20, "10.1.0.2"))
	table.Dumped()
	wantTaken(t, table, "10.1.0.0/16 [10.1.0.3] 20; 10.2.0.0/16 gone; 10.3.0.0/16 [10.1.0.2] 20")
}

// TestBound: a table keeps no more routes than it is for, the first ones, and says when there is
// room.
func TestBound(t *testing.T) {
	table := NewTable(2)
	for n := range 5 {
		table.Change(told("+", fmt.Sprintf("10.%d.0.0/16", n), 20, "10.1.0.2"))
	}
	wantTaken(t, table, "10.0.0.0/16 [10.1.0.2] 20; 10.1.0.0/16 [10.1.0.2] 20")
	if over, _ := table.Counts(); over != 3 || table.HasRoom() {
		t.Errorf("%d had no room; room now: %t", over, table.HasRoom())
	}
	table.Change(told("=", "10.1.0.0/16", 20, "10.1.0.3"))
	wantTaken(t, table, "10.1.0.0/16 [10.1.0.3] 20")
	table.Change(told("-", "10.0.0.0/16", 20, "10.1.0.2"))
	if !table.HasRoom() {
		t.Error("there is no room behind the end of a route")
	}
}

// TestWide: of more than four gateways four count, and another of them comes in when one goes.
func TestWide(t *testing.T) {
	table := NewTable(2)
	const p = "2001:db8::/32"
	table.Change(told("+", p, 5, "fe80::1", "fe80::2", "fe80::3", "fe80::4", "fe80::5"))
	wantTaken(t, table, "2001:db8::/32 [fe80::1 fe80::2 fe80::3 fe80::4] 5")
	if _, wide := table.Counts(); wide != 1 {
		t.Error(wide)
	}
	table.Change(told("-", p, 5, "fe80::1"))
	wantTaken(t, table, "2001:db8::/32 [fe80::2 fe80::3 fe80::4 fe80::5] 5")
}

// TestGoneComeLast: of more changes than a batch has, routes that are gone come behind those that
// may take their packets over.
func TestGoneComeLast(t *testing.T) {
	table := NewTable(1000)
	table.Begin()
	for n := range 50 {
		table.Change(told("&", fmt.Sprintf("10.%d.0.0/16", n), 5, "10.1.0.2"))
	}
	table.Dumped()
	table.Take(50)
	for n := range 50 {
		table.Change(told("-", fmt.Sprintf("10.%d.0.0/16", n), 5, "10.1.0.2"))
		table.Change(told("+", fmt.Sprintf("10.%d.0.0/17", n), 5, "10.1.0.2"))
	}
	for n := range 10 {
		for _, c := range table.Take(10) {
			if (c.Route == nil) != (n >= 5) {
				t.Fatalf("%s is gone %t in batch %d", c.Prefix, c.Route == nil, n)
			}
		}
	}
}

// TestExcess: of a set where a route that is missing gives its packets to another one, the box
// hears of the first route without room, until Linux tells all routes again and there is room.
func TestExcess(t *testing.T) {
	for _, tell := range []bool{false, true} {
		table := NewTable(2)
		table.Tell = tell
		dump := func(count int) {
			table.Begin()
			for n := range count {
				table.Change(told("&", fmt.Sprintf("10.%d.0.0/16", n), 5, "10.1.0.2"))
			}
			table.Dumped()
		}
		for _, step := range []struct{ count, refused int }{{2, 0}, {3, 1}, {5, 1}, {2, 0}} {
			dump(step.count)
			refused, routes := 0, 0
			for _, c := range table.Take(10) {
				if c.Route != nil {
					routes++
					if c.Route.Refused {
						refused++
					}
				}
			}
			if !tell {
				step.refused = 0
			}
			if refused != step.refused {
				t.Errorf("tell %t, %d routes for 2: %d of %d refused", tell, step.count, refused, routes)
			}
		}
		dump(3)
		table.Compare(learned.New(), false) // nor does a check lose it
		refused := slices.ContainsFunc(table.Take(10), func(c learned.Change) bool { return c.Route != nil && c.Route.Refused })
		if refused != tell {
			t.Errorf("tell %t: behind a check the box hears of a route without room: %t", tell, refused)
		}
	}
}

// burst is a Linux that tells many routes at once, and then nothing.
type burst struct{ routes int }

func (b burst) Routes(ctx context.Context, to punt.RouteTable) error {
	to.Begin()
	for n := range b.routes {
		to.Change(told("&", fmt.Sprintf("%d.%d.%d.0/24", 20+n/16384, n/64%256, n%64*4), 20, fmt.Sprintf("10.1.0.%d", 2+n%3)))
	}
	to.Dumped()
	<-ctx.Done()
	return nil
}

// held is the box as a follower has it, and how many changes a batch had at most.
type held struct {
	*box
	size int
}

func (h *held) LearnRoutes(changes []learned.Change) (taken bool, took time.Duration, err error) {
	begun := time.Now()
	taken, err = h.Daemon.LearnRoutes(xfrm.Red, changes)
	took = time.Since(begun)
	h.size = max(h.size, len(changes))
	return taken, took, err
}

func (h *held) LearnedRoutes() (*learned.Routes, error) {
	v, err := h.Daemon.Look()
	if err != nil {
		return nil, err
	}
	return v.Model().FromLinux[xfrm.Red], nil
}

// TestFollow: of a burst of routes all are in the chip, by batches; those that only the box has go
// once the grace is over, and a box that has lost its routes gets them again.
func TestFollow(t *testing.T) {
	b := newBox(t, 8)
	b.Must(network)
	b.learn(via("30.0.0.0/16", "10.1.0.2"))
	const routes = 700
	h := &held{box: b}
	f := New(h, xfrm.Red, prefixes.MostRoutes(1<<8), NewPace(), slog.New(slog.DiscardHandler))
	f.grace = time.Second
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Follow(ctx, burst{routes}) }()
	until := func(what string, is func(*learned.Routes) bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if v, err := b.Daemon.View(); err == nil && v != nil && is(v.Model().FromLinux[xfrm.Red]) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: never", what)
			}
		}
	}
	stale := netip.MustParsePrefix("30.0.0.0/16")
	until("all routes", func(has *learned.Routes) bool { return has.Len() == routes+1 && has.Find(stale) != nil })
	until("the end of the grace", func(has *learned.Routes) bool { return has.Len() == routes && has.Find(stale) == nil })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if h.size != batch {
		t.Errorf("a batch has %d changes", h.size)
	}
	for n := range routes {
		b.want(fmt.Sprintf("20.%d.%d.9", n/64%256, n%64*4), fmt.Sprint(2+n%3))
	}
	b.want("30.0.0.1", "")
}

// TestToldTwice: Linux tells a change anew that its list of all routes had already, if it came
// between the start of listening and the list. That changes nothing.
func TestToldTwice(t *testing.T) {
	const p = "10.2.0.0/16"
	table := NewTable(10)
	table.Begin()
	table.Change(told("&", p, 20, "10.1.0.2"))
	table.Change(told("&", p, 20, "10.1.0.3"))
	table.Dumped()
	wantTaken(t, table, "10.2.0.0/16 [10.1.0.2] 20")
	table.Change(told("+", p, 20, "10.1.0.2"))
	table.Change(told("&", p, 20, "10.1.0.3"))
	wantTaken(t, table, "10.2.0.0/16 [10.1.0.2] 20")
	table.Change(told("-", p, 20, "10.1.0.2"))
	wantTaken(t, table, "10.2.0.0/16 [10.1.0.3] 20")
	table.Change(told("-", p, 20, "10.1.0.4")) // and this came before the list, too
	wantTaken(t, table, "")
	if !table.HasRoom() {
		t.Error("Linux is not asked which route is gone")
	}
	table.Change(told("-", p, 20, "10.1.0.3"))
	wantTaken(t, table, "10.2.0.0/16 gone")
}
