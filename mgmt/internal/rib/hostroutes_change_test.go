// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// TestUnresolvedGateway: row 0 stands for a gateway that is not known, as it does in the table of
// next hops.
func TestUnresolvedGateway(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newLongBox(t, dev)
		b.learn(via("2001:db8:9::1/128", "2001:db8:1::3"))
		b.wantAt("2001:db8:9::1", "(6)")
		if err := b.Daemon.Run([]xfrm.Command{xfrm.NextHop{Dev: dev, MAC: xfrm.MAC{2, 0, 0, 0, 0, 0xdf}}}); err != nil {
			t.Fatal(err)
		}
		b.wantAt("2001:db8:9::1", "df")
		b.hear(map[string]byte{"2001:db8:1::3": 3})
		b.wantAt("2001:db8:9::1", "3")
	})
}

// TestHostRoutesOfVRFs: a VRF's routes to one address are in its network, in the VLAN of their
// gateways.
func TestHostRoutesOfVRFs(t *testing.T) {
	b := newBox(t, 8)
	b.Must(customers)
	const to = "2001:db8:9::1"
	b.Must("addr add 2001:db8:1::1/64 dev red.10\naddr add 2001:db8:1::1/64 dev red.20\nroute add " + to + "/128 via 2001:db8:1::2 dev red.10\n")
	b.learnIn(20, via(to+"/128", "2001:db8:1::2"), via("2001:db8:9::2/127", "fe80::7%20"))
	b.know("1 2001:db8:1::2 2", "2 2001:db8:1::2 3", "2 fe80::7%20 7")
	for network, want := range []string{"()", "2/10", "3/20"} {
		if got := b.station(network, to); got != want {
			t.Errorf("packets of network %d go to %s, want %s", network, got, want)
		}
	}
	if got := b.station(2, "2001:db8:9::3"); got != "7/20" {
		t.Error(got)
	}
	v, err := b.Daemon.Look()
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Read([]xfrm.Command{xfrm.Show{What: "vrf"}}, session.Lists{})
	if err != nil || !strings.Contains(got, "green table 20 dev red.20\n\tof Linux: routes 2 refused 0 hosts 2\n") {
		t.Error(got, err)
	}
	b.learnIn(20, gone(to+"/128"))
	if got := b.station(2, to) + b.station(1, to); got != "()2/10" {
		t.Error(got)
	}
}

// TestHostRoutesWithoutRoom: Linux's routes take half of the rows at most, the first ones stay, and
// the others say so until there is room. A written one without room refuses its batch.
func TestHostRoutesWithoutRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newLongBox(t, dev)
		half := 1 << fakebox.Small.HostBits / 2
		route := func(n int) string { return fmt.Sprintf("2001:db8:9::%x/128", n) }
		refused := func() int {
			v, err := b.Daemon.Look()
			if err != nil {
				t.Fatal(err)
			}
			return v.Model().FromLinux[dev].Refused()
		}
		for n := range half {
			b.learn(via(route(half-n), "2001:db8:1::5"))
		}
		if n := refused(); n != 0 {
			t.Fatalf("%d of %d routes are refused", n, half)
		}
		b.learn(via(route(0), "2001:db8:1::5"))
		b.wantAt("2001:db8:9::", "(6)")
		b.wantAt(fmt.Sprintf("2001:db8:9::%x", half), "5")
		if n := refused(); n != 1 {
			t.Errorf("%d routes are refused above half of the rows", n)
		}
		b.learn(gone(route(1)), via(route(0), "2001:db8:1::5"))
		b.wantAt("2001:db8:9::", "5")
		if n := refused(); n != 0 {
			t.Errorf("%d routes are refused behind that", n)
		}
		var many strings.Builder
		for n := range 2 * half {
			fmt.Fprintf(&many, "route add 2001:db8:a::%x/128 via 2001:db8:1::6 dev red\n", n)
		}
		before := b.hosts()
		err := b.Change(b.lines(many.String()))
		if err == nil || !session.IsRefused(err) || !strings.Contains(err.Error(), "no room for the route to 2001:db8:a::") {
			t.Errorf("a full table says %v", err)
		}
		if fmt.Sprint(b.hosts()) != fmt.Sprint(before) {
			t.Error("a refused batch has changed the chips")
		}
		// Rows without room are left out until there is some, if the gateway's address is learned.
		b.hear(map[string]byte{"2001:db8:1::4": 4})
		var notes strings.Builder
		b.Daemon.Notes = &notes
		last := fmt.Sprintf("2001:db8:a::%x", half)
		b.load(strings.ReplaceAll(many.String()[:strings.Index(many.String(), "route add "+last)], "2001:db8:1::6", "2001:db8:1::4"))
		b.load("route add " + last + "/128 via 2001:db8:1::4 dev red\n")
		if !strings.Contains(notes.String(), "no room for the route to "+last+"/128: the ") {
			t.Errorf("a full table tells %s", notes.String())
		}
		b.wantAt(last, "(6)")
		b.hear(map[string]byte{"2001:db8:1::4": 44}) // a change of Linux's never fails for it
		b.wantAt(last, "(6)")
		b.wantAt("2001:db8:a::", "2c")
		var room []learned.Change
		for n := range half {
			room = append(room, gone(route(half-n)))
		}
		b.learn(room...)
		b.wantAt(last, "2c")
	})
}

// TestHostRouteKilled: wherever a change is cut short, the next daemon has the routes of before or
// of behind, and no row of another.
func TestHostRouteKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		for at := 1; ; at += 3 {
			b := newLongBox(t, dev)
			b.learn(via("2001:db8:9::1/128", "2001:db8:1::5"), via("2001:db8:9::2/128", "2001:db8:1::5"))
			b.Fake.FailAfter = at
			_, err := b.Daemon.LearnRoutes(dev, []learned.Change{via("2001:db8:9::1/128", "2001:db8:1::6"), gone("2001:db8:9::2/128"), via("2001:db8:9::3/128", "2001:db8:1::6")})
			if err == nil {
				if at < 20 {
					t.Errorf("a change has %d accesses", at)
				}
				return
			}
			b.Fake.FailAfter = 0
			b.Restart()
			if _, err := b.Daemon.Undo(func([]xfrm.ID) {}); err != nil {
				t.Fatal(at, err)
			}
			b.learn(via("2001:db8:9::4/128", "2001:db8:1::6"))
			got := ""
			for n := 1; n < 5; n++ {
				got += b.station(0, fmt.Sprintf("2001:db8:9::%d", n)) + " "
			}
			if got != "5 5 (6) 6 " && got != "6 (6) 6 6 " {
				t.Fatalf("killed at %d packets go to %s", at, got)
			}
		}
	})
}

// TestRandomHostRoutes: after each of many changes each address goes where a list of the routes and
// gateways says.
func TestRandomHostRoutes(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		sizes := sized(8)
		sizes.HostBits = 8
		b := &box{testbox.Hold(t, sizes), dev}
		b.load(longNetwork)
		random := rand.New(rand.NewPCG(3, 4))
		routes, known := map[netip.Prefix]string{}, map[string]byte{}
		address := func() netip.Addr {
			return netip.MustParseAddr(fmt.Sprintf("2001:db8:9::%x", random.IntN(16)))
		}
		for range 120 {
			var changes []learned.Change
			for range 1 + random.IntN(4) {
				p, _ := address().Prefix(126 + random.IntN(3))
				gateway := fmt.Sprintf("2001:db8:1::%d", 2+random.IntN(3))
				if delete(routes, p); random.IntN(3) == 0 {
					changes = append(changes, learned.Change{Prefix: p})
					continue
				}
				routes[p] = gateway
				changes = append(changes, via(p.String(), gateway))
			}
			b.learn(changes...)
			switch random.IntN(8) {
			case 0:
				b.Restart()
			case 1, 2, 3:
				known = maps.Clone(known)
				gateway := fmt.Sprintf("2001:db8:1::%d", 2+random.IntN(3))
				if delete(known, gateway); random.IntN(3) > 0 {
					known[gateway] = byte(16 + random.IntN(200))
				}
				b.hear(known)
			}
			for n := range 16 {
				to := netip.MustParseAddr(fmt.Sprintf("2001:db8:9::%x", n))
				want, bits := "(6)", -1
				for p, gateway := range routes {
					if mac := known[gateway]; p.Contains(to) && p.Bits() > bits && mac > 0 {
						want, bits = fmt.Sprintf("%x", mac), p.Bits()
					}
				}
				b.wantAt(to.String(), want)
			}
		}
	})
}
