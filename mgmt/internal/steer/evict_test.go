// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// ways are routes of Linux behind red.
func ways(count int, via string) (all []learned.Change) {
	for k := range count {
		p := netip.MustParsePrefix(fmt.Sprintf("20.%d.%d.0/24", k*37%256, k/256*32+k%7))
		all = append(all, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Protocol: "bgp", Via: []netip.Addr{netip.MustParseAddr(via)}}})
	}
	return all
}

// TestPoliciesStay: without an interface in the box, the tree of a network has policies by prefix.
// They give way to no written route, however many routes Linux has for interfaces to come.
func TestPoliciesStay(t *testing.T) {
	for _, c := range []struct {
		vrf, dev string
		vlan     int
	}{{"", "", 0}, {"blue", " dev blue", 10}} {
		b := newBox(t, sized(7, 5))
		text := "addr add 192.0.2.1/24 dev black\naddr add 10.1.0.1/16 dev red\n" + strings.Replace(state(1, 1), "if_id 1 ", "", 1) +
			"link add blue type vrf table 10\nlink add link red name red.10 type vlan id 10\nlink set red.10 master blue\n"
		for n := range 28 {
			text += fmt.Sprintf("xfrm policy add src 10.0.0.0/8 dst 172.%d.%d.0/24%s dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n", n*9, n*7, c.dev)
		}
		b.Must(text)
		b.learnIn(c.vrf, toward("0.0.0.0/0", "other"))
		if taken, err := b.Daemon.LearnRoutes(xfrm.Red, ways(800, "10.1.0.9")); err != nil || !taken {
			t.Fatal(taken, err)
		}
		for k := range 200 {
			// Linux's at red give way.
			b.Must(fmt.Sprintf("route add 30.%d.%d.0/24 via 10.1.0.8 dev red\n", k*37%256, k))
			if got := b.goesIn(c.vlan, "172.9.7.9"); got != "0x1001 " {
				t.Errorf("VRF %q: %d written routes, and packets go %s", c.vrf, k+1, got)
				break
			}
		}
	}
}

// TestRoomInVain: a tree that finds no room takes none from others again, each time that it is
// tried, until it has become smaller.
func TestRoomInVain(t *testing.T) {
	b := newBox(t, sized(7, 5))
	ready(b)
	dice := rand.New(rand.NewPCG(1, 2))
	random := func() netip.Prefix {
		var a [16]byte
		binary.BigEndian.PutUint64(a[:], 0x20<<56|dice.Uint64()>>8)
		return netip.PrefixFrom(netip.AddrFrom16(a), 64)
	}
	written := ""
	for range 405 {
		written += fmt.Sprintf("route add %s dev ipsec6\n", random())
	}
	b.Must(written)
	if taken, err := b.Daemon.LearnRoutes(xfrm.Red, ways(700, "10.1.0.9")); err != nil || !taken {
		t.Fatal(taken, err)
	}
	refused := func(set string) int { return b.model().FromLinux[set].Refused() }
	again := func(set string) {
		var all []learned.Change
		for r := range b.model().FromLinux[set].All() {
			if r.Refused {
				route := *r
				route.Refused = false
				all = append(all, learned.Change{Prefix: r.Prefix, Route: &route})
			}
		}
		if _, err := b.Daemon.LearnRoutes(set, all); err != nil {
			t.Fatal(err)
		}
	}
	had, blue := refused(xfrm.Red), b.model().SteeringSet("blue")
	var many []learned.Change
	for range 150 {
		many = append(many, toward(random().String(), "ipsec5"))
	}
	b.learnIn("blue", many...)
	if refused(blue) == 0 || refused(xfrm.Red) == had {
		t.Fatalf("%d routes of blue are refused, and %d of red, %d before", refused(blue), refused(xfrm.Red), had)
	}
	for range 3 {
		again(xfrm.Red)
		if got := refused(xfrm.Red); got > had {
			t.Errorf("%d routes of red are refused, %d before", got, had)
		}
		again(blue)
		if got := refused(xfrm.Red); got > had || refused(blue) == 0 {
			t.Errorf("tried again: %d routes of red are refused, %d before, and %d of blue", got, had, refused(blue))
		}
	}
	for i := range many[20:] {
		many[20+i].Route = nil
	}
	b.learnIn("blue", many[20:]...)
	if again(blue); refused(blue) > 0 {
		t.Error("blue has few routes, and no room for them")
	}
}
