// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// apart is a box with VRFs. As in the daemon, one change of it comes behind another.
type apart struct {
	*box
	mu *sync.Mutex
}

func (a apart) must(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Must(text)
}

func (a apart) VRFs() (out []punt.VRF, err error) {
	v, err := a.Daemon.Look()
	if err != nil {
		return nil, err
	}
	for _, vrf := range v.Model().VRFs {
		out = append(out, punt.VRF{Name: vrf.Name, Table: vrf.Table})
	}
	return out, nil
}

func (a apart) Of(set string) Box { return ofVRF{a, set} }

type ofVRF struct {
	apart
	set string
}

func (o ofVRF) LearnRoutes(changes []learned.Change) (taken bool, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	begun := time.Now()
	taken, err = o.Daemon.LearnRoutes(o.set, changes)
	return taken, time.Since(begun), err
}

func (o ofVRF) LearnedRoutes() (*learned.Routes, error) {
	v, err := o.Daemon.Look()
	if err != nil {
		return nil, err
	}
	if routes := v.Model().FromLinux[o.set]; routes != nil {
		return routes, nil
	}
	return learned.New(), nil
}

// linux has routes of tables. Each time it is asked it tells all, and then loses changes.
type linux struct {
	mu     sync.Mutex
	routes map[uint32][]string // prefixes, by table
	steers map[uint32][]string // and those of routes to ipsec7
	asked  [][]punt.VRF
}

// steer has Linux have routes of a table to ipsec7.
func (l *linux) steer(table uint32, prefixes ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steers[table] = prefixes
}

func (l *linux) set(table uint32, prefixes ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.routes[table] = prefixes
}

func (l *linux) TableRoutes(_ context.Context, vrfs []punt.VRF, to punt.RouteTable) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, vrfs)
	to.Begin()
	for _, table := range slices.Sorted(maps.Keys(l.routes)) { // Linux has an order, too
		for _, prefix := range l.routes[table] {
			change := told("&", prefix, 20, "10.1.0.2")
			change.Table = table
			to.Change(change)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(l.steers)) {
		for _, prefix := range l.steers[table] {
			change := told("&", prefix, 20)
			change.Route.Dev, change.Steers, change.Table = "ipsec7", true, table
			to.Change(change)
		}
	}
	to.Dumped()
	return nil
}

func (l *linux) Ignored() []string { return []string{"red.30 does not fit"} }

// until waits for what the box has, as `of` tells it.
func (a apart) until(t *testing.T, want string, of func(m *model.Model) string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		look, err := a.Daemon.Look()
		if err != nil {
			t.Fatal(err)
		}
		if got = of(look.Model()); got == want {
			return
		}
	}
	t.Fatalf("the box has %s, want %s", got, want)
}

// TestFollowVRFs: of a VRF that comes Linux's routes come, and with it they go. A table without one
// has none. All tables share their room, and what does not fit is logged once.
func TestFollowVRFs(t *testing.T) {
	b := apart{newBox(t, 8), &sync.Mutex{}}
	b.must(customers + "link set red.20 nomaster\nlink del green\n")
	l := &linux{routes: map[uint32][]string{}}
	l.set(10, "10.3.0.0/16", "10.4.0.0/16")
	l.set(20, "10.3.0.0/16", "10.4.0.0/16")
	log := &testbox.Log{}
	v := NewVRFs(b, 3, NewPace(), slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.Follow(ctx, l) }()
	until := func(want string) {
		t.Helper()
		b.until(t, want, func(m *model.Model) (got string) {
			for _, vrf := range m.VRFs {
				count := 0
				if routes := m.FromLinux[learned.OfTable(vrf.Table, vrf.Name)]; routes != nil {
					count = routes.Len()
				}
				got += fmt.Sprint(vrf.Name, count, " ")
			}
			return got
		})
	}
	until("blue2 ")
	b.must("link add green type vrf table 20\n")
	until("blue2 green1 ") // there is room for 3
	if over := v.Over(); over["vrf green"] == 0 || over["vrf blue"] != 0 {
		t.Errorf("no room for %v", over)
	}
	l.set(10, "10.4.0.0/16")
	until("blue1 green2 ")
	b.must("link set red.10 nomaster\nlink del blue\n")
	until("green2 ")
	l.set(20, "10.3.0.0/16", "10.4.0.0/16", "10.5.0.0/16")
	until("green3 ") // with the VRF its room comes back
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said := strings.Count(log.String(), "red.30 does not fit"); said != 1 {
		t.Errorf("it is said %d times what does not fit", said)
	}
}

// TestVRFsGiveWay: Linux's routes of VRFs make room for policies and for written routes, and come
// back where there is room.
func TestVRFsGiveWay(t *testing.T) {
	b := newBox(t, 5)
	b.Must(customers + "link add red2 type vrf table 30\nlink add link red name red.30 type vlan id 30\nlink set red.30 master red2\n")
	// Trees of VRFs until the chip has no room for another one.
	full := ""
	for _, table := range []uint32{10, 20, 30} {
		b.learnIn(table, onVLAN("10.1.0.0/24", uint16(table)), via("10.3.0.0/16", "10.1.0.2"), onVLAN("2001:db8:1::/64", uint16(table)))
	}
	for n := range 40 {
		id := 100 + n
		b.Must(fmt.Sprintf("link add v%d type vrf table %d\nlink add link red name red.%d type vlan id %d\nlink set red.%d master v%d\n", id, id, id, id, id, id))
		b.learnIn(uint32(id), onVLAN("10.1.0.0/24", uint16(id)))
		if full = b.show("route show"); strings.Contains(full, "rt_offload_failed") {
			break
		}
	}
	if !strings.Contains(full, "rt_offload_failed") {
		t.Fatal("there is always room for another tree")
	}
	b.Must("neigh add 10.1.0.7 lladdr 02:00:00:00:00:07 dev red.20\nlink add last type vrf table 99\nlink add link red name red.99 type vlan id 99\nlink set red.99 master last\nneigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red.99\nroute add 10.9.0.0/16 via 10.1.0.9 dev red.99\n")
	last := strings.Count(b.show("link show"), " type vrf ")
	b.wantIn(last, "10.9.0.1", "9/99")
}

// TestInterfacesTakeRoom: Linux's routes in one VRF make room for the tree of written routes to an
// XFRM interface of another.
func TestInterfacesTakeRoom(t *testing.T) {
	sizes := sized(7)
	sizes.PolicyBits = 4
	b := &box{testbox.Hold(t, sizes), xfrm.Red}
	b.Must(customers + "link add ipsec7 type xfrm dev black if_id 7\nlink set ipsec7 master blue\n")
	for _, table := range []uint32{20, 30} {
		if table == 30 {
			b.Must("link add red2 type vrf table 30\nlink add link red name red.30 type vlan id 30\nlink set red.30 master red2\n")
		}
		routes := []learned.Change{onVLAN("10.1.0.0/24", uint16(table))}
		for n := range 500 {
			routes = append(routes, via(fmt.Sprintf("20.%d.%d.0/24", n*37%256, n/256*32+n%7), "10.1.0.2"))
		}
		b.learnIn(table, routes...)
	}
	lost := func() int { return strings.Count(b.show("route show"), "rt_offload_failed") }
	full := lost()
	if full == 0 {
		t.Fatal("there is room for all of Linux's routes")
	}
	routes := ""
	for n := range 100 {
		routes += fmt.Sprintf("route add 10.%d.0.0/16 dev ipsec7\n", 20+2*n)
	}
	b.Must(routes)
	if now := lost(); now <= full {
		t.Errorf("%d of Linux's routes have no room before, and %d beside blue's", full, now)
	}
}

// TestSteeringFollowers: Linux's routes that steer packets of a VRF come beside those out of its
// VLANs, and go with the VRF. A VRF has its share of their room, however many others have. Without
// room for all of them the box knows of one, as refused.
func TestSteeringFollowers(t *testing.T) {
	b := apart{newBox(t, 8), &sync.Mutex{}}
	b.must(customers)
	l := &linux{routes: map[uint32][]string{}, steers: map[uint32][]string{}}
	l.set(10, "10.9.0.0/16")
	var many []string
	for n := range 200 {
		many = append(many, fmt.Sprintf("20.0.%d.0/24", n))
	}
	l.steer(10, many...)
	l.steer(20, many[:2]...)
	log := &testbox.Log{}
	v := NewVRFs(b, 2*model.MostVRFs, NewPace(), slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.Follow(ctx, l) }()
	until := func(want string) {
		t.Helper()
		b.until(t, want, func(m *model.Model) (got string) {
			for _, set := range []string{learned.OfTable(10, "blue"), learned.SteeringOf(10, "blue"), learned.SteeringOf(20, "green")} {
				if routes := m.FromLinux[set]; routes != nil {
					got += fmt.Sprintf("%s: %d, %d refused; ", set, routes.Len(), routes.Refused())
				}
			}
			return got
		})
	}
	const ways = "table 10 blue: 1, 0 refused; "
	until(ways + "xfrm table 10 blue: 127, 1 refused; xfrm table 20 green: 2, 0 refused; ")
	l.steer(10, many[:100]...)
	until(ways + "xfrm table 10 blue: 100, 0 refused; xfrm table 20 green: 2, 0 refused; ")
	b.must("link set red.20 nomaster\nlink del green\n")
	until(ways + "xfrm table 10 blue: 100, 0 refused; ")
	l.steer(10)
	until(ways + "xfrm table 10 blue: 0, 0 refused; ")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said := "no room for all routes on xfrm in the VRF blue: no packet is routed to any XFRM interface there until there is"; !strings.Contains(log.String(), said) {
		t.Error(log)
	}
}
