// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/transport"
)

// apart has two VRFs of equal addresses with XFRM interfaces of their own, beside those of none.
const apart = network + `link add link red name red.10 type vlan id 10
link add link red name red.20 type vlan id 20
link add blue type vrf table 10
link add green type vrf table 20
link set red.10 master blue
link set red.20 master green
addr add 10.1.0.1/24 dev red.10
addr add 10.1.0.1/24 dev red.20
link add ipsec5 type xfrm dev black if_id 5
link add ipsec6 type xfrm dev black if_id 6
link add ipsec7 type xfrm dev black if_id 7
link set ipsec5 master blue
link set ipsec6 master green
link set ipsec7 master blue
`

// inVRF makes a change of network 0 one of a VRF.
func (c *changer) inVRF(text string) string {
	moved := []string{" if_id 1", " if_id 5", " if_id 2", " if_id 6", " if_id 3", " if_id 7", "reqid 1", "reqid 5", "reqid 2", "reqid 6", "reqid 3", "reqid 7",
		"dev ipsec1", "dev ipsec5", "dev ipsec2", "dev ipsec6", "dev red", "dev red.10", "dev black", "dev red.20", "action allow", "action block"}
	if !strings.Contains(text, "if_id") && strings.HasPrefix(text, "xfrm policy") {
		moved = append(moved, " dir out", " dev "+[]string{"blue", "green"}[c.IntN(2)]+" dir out")
	}
	return strings.NewReplacer(moved...).Replace(text)
}

// TestVRFsUnderTraffic changes routes, policies, SAs and masters of three networks at random, one
// at a time. Routes are written, or Linux's of the table of a network. At each moment every packet
// of each finds the decision of before or the one of after. The next daemon finds all as it is, and
// everything computed anew is the same.
func TestVRFsUnderTraffic(t *testing.T) {
	changes, protected, moves, learns := 0, map[uint32]int{}, 0, 0
	for seed := range uint64(8) {
		b := newBox(t, sized(8, 7))
		c := &changer{Rand: rand.New(rand.NewPCG(seed, 29))}
		b.Must(apart)
		for round := range 150 {
			packets := c.packets()
			for n := range packets {
				packets[n].VLAN = []int{0, 10, 20}[c.IntN(3)]
			}
			text, set, routes := "", "", []learned.Change(nil)
			switch round % 6 {
			case 4, 5:
				vrf := []string{"", "blue", "green"}[c.IntN(3)]
				if set, routes = b.model().SteeringSet(vrf), c.routes(4); vrf != "" {
					for _, r := range routes {
						if r.Route != nil && r.Route.Dev != "" {
							r.Route.Dev = fmt.Sprint("ipsec", 5+c.IntN(4)) // Linux alone has ipsec8
						}
					}
				}
			case 0, 1:
				text = c.policy()
			case 2:
				text = c.written()
			default:
				c.keys++
				text = state(c.keys, 1+c.IntN(3))
			}
			if c.IntN(4) > 0 {
				text = c.inVRF(text)
			}
			if round%25 == 24 {
				ifID := 5 + c.IntN(3)
				b.Must(fmt.Sprintf("xfrm policy deleteall if_id %d\nxfrm state deleteall reqid %d\n", ifID, ifID))
				text = fmt.Sprintf("link set ipsec%d %s\n", ifID, []string{"master blue", "master green", "nomaster"}[c.IntN(3)])
				moves++
			}
			change := func() error { return b.Change(text) }
			if set != "" && round%25 != 24 {
				learns++
				text = fmt.Sprint(set, routes)
				change = func() error {
					_, err := b.Daemon.LearnRoutes(set, routes)
					return err
				}
			}
			after := b.watched(packets, fmt.Sprintf("seed %d round %d: %s", seed, round, text), change)
			if after == nil {
				continue
			}
			changes++
			for _, p := range packets {
				if ifID, _ := where(after, p); ifID != 0 && right(after, p) != "dropped" {
					protected[ifID]++
				}
			}
			if round%10 == 9 {
				b.sameAgain(fmt.Sprintf("seed %d round %d", seed, round))
			}
		}
	}
	t.Log("changes", changes, "of Linux", learns, "moves", moves, "packets to interfaces that a policy is for", protected)
	for _, ifID := range []uint32{1, 2, 5, 6} {
		if changes < 500 || moves < 40 || learns < 200 || protected[ifID] < 100 {
			t.Error("too few to show anything")
		}
	}
}

// TestNoRoomInVRF: a written route of a VRF that the chip has no room for is refused, and the trees
// of all networks stay as they are.
func TestNoRoomInVRF(t *testing.T) {
	b := newBox(t, sized(7, 5))
	b.Must(apart + "route add 10.2.0.0/16 dev ipsec1\nroute add 10.2.0.0/16 dev ipsec6\nxfrm policy add dir out" + tunnel(5) + state(5, 5) + "xfrm policy add dir out" + tunnel(1) + state(1, 1))
	full := false
	for k := 0; k < 1200 && !full; k += 20 {
		text := ""
		for n := k; n < k+20; n++ {
			text += fmt.Sprintf("route add 20.%d.%d.0/24 dev ipsec5\n", n*37%256, n/256*32+n%7)
		}
		before := b.Snapshot()
		if err := b.Change(text); err != nil {
			if full = true; !strings.Contains(err.Error(), "no room for the routes to XFRM interfaces") || b.Snapshot() != before {
				t.Errorf("%d routes: %v", k, err)
			}
		}
	}
	if !full {
		t.Error("room for 1200 routes")
	}
	b.wants("10.2.0.1", "0x1001")
	b.sameAgain("full")
}

// TestInterfacesOfVRFsAlone: beside interfaces of VRFs, packets of no VRF go by the policies
// without if_id as if there were no interfaces, and a clear policy may have priority 0.
func TestInterfacesOfVRFsAlone(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must("addr add 192.0.2.1/24 dev black\nroute add default via 192.0.2.2 dev black\nxfrm policy add dst 10.9.0.0/16 dir out action allow\nxfrm policy add dst 10.2.0.0/16 dir out priority 3" + tunnel(0) + state(1, 0))
	b.wants("10.2.0.9", "0x1001")
	b.Must("link add blue type vrf table 10\nlink add ipsec5 type xfrm dev black if_id 5\nlink set ipsec5 master blue\nroute add 10.2.0.0/16 dev ipsec5\n")
	b.wants("10.2.0.9", "0x1001")
	b.wants("10.9.0.9", "clear")
	b.wants("10.3.0.9", "dropped")
	if err := b.Change("link set ipsec5 nomaster\n"); err == nil || !strings.Contains(err.Error(), "lets packets pass at priority 0") {
		t.Error(err)
	}
	b.Restart()
	b.Must("route del 10.2.0.0/16 dev ipsec5\nlink set ipsec5 nomaster\nlink del ipsec5\nlink del blue\n")
	b.wants("10.2.0.9", "0x1001")
	if rows := b.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy); len(rows) != 2 {
		t.Errorf("%d rows by prefix", len(rows))
	}
}

// TestLinuxKnowsNoInterfaceOfVRF: a route of Linux's main table to an interface that is in a VRF
// drops its packets, which are of no VRF, and such an interface gets none of Linux's packets.
func TestLinuxKnowsNoInterfaceOfVRF(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(apart + "route add 10.4.0.0/16 dev ipsec5\n")
	for n := range 6 {
		if n != 3 {
			b.Must("xfrm policy add dir out" + tunnel(n+1) + state(n+1, n+1))
		}
	}
	b.learn(toward("10.0.0.0/8", "ipsec1"), toward("10.2.0.0/16", "ipsec5"), toward("10.3.0.0/16", "ipsec2"))
	for to, want := range map[string][2]string{"10.9.0.9": {"0x1001", "ipsec1"}, "10.2.0.9": {"dropped", ""}, "10.3.0.9": {"0x1002", "ipsec2"}, "10.4.0.9": {"0x1001", "ipsec1"}} {
		b.wants(to, want[0])
		if got := steer.Interface(b.model(), netip.MustParseAddr(to)); got != want[1] {
			t.Errorf("packets of Linux to %s are those of %q", to, got)
		}
	}
}
