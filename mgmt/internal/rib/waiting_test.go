// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/punt"
)

// memory is a box that has routes in memory alone. While it waits it takes none.
type memory struct {
	has   *learned.Routes
	waits bool
}

func (m *memory) LearnRoutes(changes []learned.Change) (bool, time.Duration, error) {
	if m.waits {
		return false, 0, nil
	}
	for _, c := range changes {
		m.has.Set(c.Prefix, c.Route)
	}
	return true, 0, nil
}

func (m *memory) LearnedRoutes() (*learned.Routes, error) { return m.has, nil }

// TestMillionChanges: prefixes that come and go while the box takes none do not fill the memory.
// Once it takes changes again, it gets exactly Linux's routes. Those of before the daemon's start
// stay for the grace.
func TestMillionChanges(t *testing.T) {
	const most, stay, leave = 1000, 300, 200
	for _, swept := range []bool{true, false} {
		b := &memory{has: learned.New()}
		before := via("30.0.0.0/16", "10.1.0.2")
		b.has.Set(before.Prefix, before.Route)
		f := newFollower(b, "red", false, newRoom(most), NewPace(), slog.New(slog.DiscardHandler))
		want := map[string]string{}
		tell := func(how, prefix, gateway string) {
			f.table.Change(told(how, prefix, 20, gateway))
			if want[prefix] = gateway; how == "-" {
				delete(want, prefix)
			}
		}
		turn := func(sweep bool) {
			t.Helper()
			if err := f.check(sweep, swept, false); err != nil {
				t.Fatal(err)
			}
			for more := true; more; more = more && !b.waits {
				var err error
				if more, _, err = f.step(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n := range stay {
			tell("+", fmt.Sprintf("20.%d.%d.0/24", n/256, n%256), "10.1.0.2")
		}
		turn(false)
		b.waits = true
		crowd := 0
		for n := range 500_000 {
			passing := fmt.Sprintf("%d.%d.%d.0/24", 40+n>>16, n>>8&255, n&255)
			tell("+", passing, "10.1.0.3")
			crowd = max(crowd, len(f.table.dirty))
			tell("-", passing, "10.1.0.3")
			crowd = max(crowd, len(f.table.dirty))
			switch i := n / 2000; {
			case n%2000 != 0:
			case i < leave:
				tell("-", fmt.Sprintf("20.%d.%d.0/24", i/256, i%256), "10.1.0.2")
			default:
				tell("=", fmt.Sprintf("20.%d.%d.0/24", i/256, i%256), "10.1.0.4")
				tell("+", fmt.Sprintf("21.0.%d.0/24", i), "10.1.0.2")
			}
			if n%50_000 == 0 {
				turn(false)
			}
		}
		if crowd > most+mostGone+batch {
			t.Errorf("swept %t: %d prefixes wait, of a table for %d routes", swept, crowd, most)
		}
		b.waits = false
		turn(false)
		if stays := b.has.Find(before.Prefix) != nil; stays == swept {
			t.Errorf("swept %t: a route of before stays: %t", swept, stays)
		}
		swept = true
		turn(true)
		got := map[string]string{}
		for r := range b.has.All() {
			got[r.Prefix.String()] = r.Via[0].String()
		}
		if !maps.Equal(got, want) {
			t.Errorf("the box has %d routes, Linux %d", len(got), len(want))
		}
	}
}

// TestDisobeyed: the log names a route that the chip cannot have whenever Linux has a new one.
func TestDisobeyed(t *testing.T) {
	var log strings.Builder
	f := newFollower(&memory{has: learned.New()}, "red", false, newRoom(100), NewPace(), slog.New(slog.NewTextHandler(&log, nil)))
	nowhere := told("+", "2001:db8:9::1/128", 20)
	nowhere.Route.Type = "blackhole"
	for _, step := range []struct {
		change punt.RouteChange
		want   string
	}{
		{nowhere, "first=2001:db8:9::1/128 type=blackhole all=1"},
		{told("+", "2001:db8:9::2/128", 20, "fe80::9"), ""},
		{told("+", "2001:db8:9::4/126", 20, "fe80::9"), ""},
		{told("+", "2001:db8:a::/125", 20, "fe80::9"), "first=2001:db8:a::/125 type=\"\" all=2"},
		{told("+", "2001:db8:b::/64", 20, "fe80::9"), ""},
		{told("+", "2001:db8:c::/65", 20, "fe80::9"), "first=2001:db8:c::/65 type=\"\" all=3"},
	} {
		log.Reset()
		f.table.Change(step.change)
		if _, _, err := f.step(); err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(log.String(), "level=WARN"); warned != (step.want != "") || !strings.Contains(log.String(), step.want) {
			t.Errorf("of %s the log says %s", step.change.Route.Prefix, log.String())
		}
	}
}
