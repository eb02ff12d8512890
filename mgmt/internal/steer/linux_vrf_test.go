// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// ready has a policy and an SA of each interface, 0x1001 to 0x1007.
func ready(b *box) {
	b.Must(apart)
	for n := range 7 {
		if n != 3 {
			b.Must("xfrm policy add dir out" + tunnel(n+1) + state(n+1, n+1))
		}
	}
}

// TestLinuxInVRF: Linux's routes of the table of a VRF lead its packets to its interfaces, and no
// others. One to an interface that is elsewhere in the box drops them, until the interface comes.
func TestLinuxInVRF(t *testing.T) {
	b := newBox(t, sized(8, 5))
	ready(b)
	b.learnIn("blue", toward("10.0.0.0/8", "ipsec5"), toward("10.2.0.0/16", "ipsec7"), toward("10.3.0.0/16", "ipsec8"), toward("10.4.0.0/16", "blackhole"), toward("10.5.0.0/16", "other"), toward("10.6.0.0/16", "ipsec6"))
	b.learnIn("green", toward("10.2.0.0/16", "ipsec6"))
	all := map[string][3]string{
		"10.9.0.9": {"dropped", "0x1005", "dropped"}, "10.2.0.9": {"dropped", "0x1007", "0x1006"}, "10.3.0.9": {"dropped", "dropped", "dropped"},
		"10.4.0.9": {"dropped", "dropped", "dropped"}, "10.5.0.9": {"dropped", "dropped", "dropped"}, "10.6.0.9": {"dropped", "dropped", "dropped"},
	}
	look := func(when string) {
		t.Helper()
		for to, want := range all {
			for n, vlan := range []int{0, 10, 20} {
				if got := b.goesIn(vlan, to); got != want[n]+" " {
					t.Errorf("%s: packets of VLAN %d to %s are %s, want %s", when, vlan, to, got, want[n])
				}
			}
		}
	}
	look("learned")
	b.Must("route add 10.2.0.0/16 dev ipsec5\n") // a written route comes first
	b.wantsIn(10, "10.2.0.9", "0x1005")
	b.Must("route del 10.2.0.0/16 dev ipsec5\n")
	b.sameAgain("with Linux's routes")
	look("the next daemon")
	b.Must("link add ipsec8 type xfrm dev black if_id 8\n")
	look("the interface in no VRF")
	b.Must("link set ipsec8 master blue\nxfrm policy add dir out" + tunnel(8) + state(8, 8))
	b.wantsIn(10, "10.3.0.9", "0x1008")
	b.Must("xfrm policy deleteall if_id 7\nxfrm state deleteall reqid 7\nlink set ipsec7 master green\nxfrm policy add dir out" + tunnel(7) + state(17, 7))
	b.wantsIn(10, "10.2.0.9", "dropped")
	b.wantsIn(20, "10.2.0.9", "0x1006")
	b.learnIn("green", toward("10.2.0.0/16", ""), toward("10.0.0.0/8", "ipsec7"))
	b.wantsIn(20, "10.2.0.9", "0x1011")
	b.sameAgain("moved")
}

// TestTableOfLinuxGoes: with a VRF, and with its table, its routes to interfaces go. A VRF that
// comes with the table or the name of another one has none.
func TestTableOfLinuxGoes(t *testing.T) {
	b := newBox(t, sized(8, 5))
	ready(b)
	const leave = "xfrm policy deleteall if_id 6\nxfrm state deleteall reqid 6\nlink set ipsec6 nomaster\nlink set red.20 nomaster\nlink del green\n"
	back := "link set red.20 master %s\nlink set ipsec6 master %[1]s\nxfrm policy add dir out" + tunnel(6)
	for n, names := range [][2]string{{"green", "20"}, {"azure", "20"}, {"green", "30"}} {
		b.learnIn("green", toward("10.2.0.0/16", "ipsec6"))
		b.wantsIn(20, "10.2.0.9", []string{"0x1006", "0x1021", "0x1032"}[n])
		b.Must(leave)
		b.Must("link add " + names[0] + " type vrf table " + names[1] + "\n" + fmt.Sprintf(back, names[0]) + state(0x21+n, 6))
		if set := b.model().FromLinux[b.model().SteeringSet(names[0])]; set != nil && set.Len() > 0 {
			t.Errorf("%v has %d routes", names, set.Len())
		}
		b.wantsIn(20, "10.2.0.9", "dropped")
		b.sameAgain(names[0])
		if names[0] != "green" {
			b.Must(strings.ReplaceAll(leave, "green", names[0]))
			b.Must("link add green type vrf table 20\n" + fmt.Sprintf(back, "green") + state(0x31+n, 6))
		}
	}
}

// TestLoadKeepsLinuxRoutes: a configuration that is loaded, and one that is taken back, keep
// Linux's routes of VRFs that stay. They lead where the interface is.
func TestLoadKeepsLinuxRoutes(t *testing.T) {
	b := newBox(t, sized(8, 5))
	ready(b)
	b.learnIn("blue", toward("10.2.0.0/16", "ipsec7"))
	text := strings.Join(b.model().Lines(), "\n")
	parse := func(text string) []xfrm.Command {
		commands, err := xfrm.ParseConfig("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return commands
	}
	b.Must("xfrm policy deleteall if_id 7\nxfrm state deleteall reqid 7\n")
	other := strings.ReplaceAll(strings.Join(b.model().Lines(), "\n"), "ipsec7 master blue", "ipsec7 master green")
	if err := b.Daemon.Replace(parse(other)); err != nil {
		t.Fatal(err)
	}
	b.Must("xfrm policy add dir out" + tunnel(7) + state(17, 7))
	b.wantsIn(10, "10.2.0.9", "dropped")
	if err := b.Daemon.PutBack(parse(text)); err != nil {
		t.Fatal(err)
	}
	b.wantsIn(10, "10.2.0.9", "0x1011")
	b.wantsIn(20, "10.2.0.9", "dropped")
	b.sameAgain("taken back")
}

// many are routes of Linux to an interface.
func many(count int, dev string) (all []learned.Change) {
	for k := range count {
		all = append(all, toward(fmt.Sprintf("20.%d.%d.0/24", k*37%256, k/256*32+k%7), dev))
	}
	return all
}

// TestRoomOfVRFs: where the chip has no room for Linux's routes of all networks, the one with most
// has none to its interfaces, until there is room. So none keeps those with fewer out, whichever
// came first, nor written ones, and no packet takes another tunnel meanwhile. A written route for
// which there is no room all the same is refused.
func TestRoomOfVRFs(t *testing.T) {
	vlans := map[string]int{"": 0, "blue": 10, "green": 20}
	devices := map[string]string{"": "ipsec1", "blue": "ipsec5", "green": "ipsec6"}
	for _, order := range [][2]string{{"blue", "green"}, {"green", "blue"}, {"blue", ""}, {"", "green"}} {
		b := newBox(t, sized(7, 5))
		ready(b)
		much, less := order[0], order[1]
		refused := func(vrf string) int { return b.model().FromLinux[b.model().SteeringSet(vrf)].Refused() }
		some := many(300, devices[less])
		all, n := many(1200, devices[much]), 0
		for ; n < len(all); n += 20 {
			if b.learnIn(much, all[n:n+20]...); refused(much) > 0 {
				break
			}
		}
		if n == len(all) {
			t.Fatal("room for 1200 routes")
		}
		b.learnIn(much, many(n+20, "")...)
		b.learnIn(much, many(n-160, devices[much])...)
		if refused(much) > 0 {
			t.Fatal(much, " has no room")
		}
		var packets []testbox.Packet
		for _, c := range some[:40] {
			for _, vlan := range []int{vlans[much], vlans[less]} {
				packets = append(packets, testbox.Packet{VLAN: vlan, Src: netip.MustParseAddr("10.1.0.9"), Dst: c.Prefix.Addr().Next(), Proto: 6, SPort: 7, DPort: 80})
			}
		}
		set := b.model().SteeringSet(less)
		b.watched(packets, fmt.Sprint(order), func() error {
			_, err := b.Daemon.LearnRoutes(set, some)
			return err
		})
		if refused(less) > 0 || refused(much) == 0 {
			t.Errorf("%v: %d of the fewer are refused, and %d of the others", order, refused(less), refused(much))
		}
		for _, c := range some {
			b.wantsIn(vlans[less], c.Prefix.Addr().Next().String(), map[string]string{"": "0x1001", "blue": "0x1005", "green": "0x1006"}[less])
			b.wantsIn(vlans[much], c.Prefix.Addr().Next().String(), "dropped")
		}
		retry := func() {
			for r := range b.model().FromLinux[b.model().SteeringSet(much)].All() {
				if r.Refused {
					b.learnIn(much, toward(r.Prefix.String(), devices[much]))
				}
			}
		}
		if retry(); refused(less) > 0 || refused(much) == 0 {
			t.Errorf("%v: tried again: %d of the fewer are refused, and %d of the others", order, refused(less), refused(much))
		}
		b.sameAgain(fmt.Sprint(order))
		// With the fewer ones gone the others are tried again.
		for i := range some {
			some[i].Route = nil
		}
		b.learnIn(less, some...)
		retry()
		b.wantsIn(vlans[much], "20.0.0.1", map[string]string{"": "0x1001", "blue": "0x1005", "green": "0x1006"}[much])
		written := ""
		for k := range 300 {
			written += fmt.Sprintf("route add 30.%d.%d.0/24 dev %s\n", k*37%256, k/256*32+k%7, devices[less])
		}
		b.Must(written)
		b.wantsIn(vlans[less], "30.0.0.1", map[string]string{"": "0x1001", "blue": "0x1005", "green": "0x1006"}[less])
		if refused(much) == 0 {
			t.Errorf("%v: Linux's routes do not give way to written ones", order)
		}
		b.sameAgain("written")
	}
}

// TestWrittenBesideLinux: a written route for which there is no room is refused beside Linux's
// routes of its network, which stay in force.
func TestWrittenBesideLinux(t *testing.T) {
	for vlan, dev := range map[int]string{0: "ipsec1", 10: "ipsec5"} {
		b := newBox(t, sized(7, 5))
		ready(b)
		vrf := map[int]string{10: "blue"}[vlan]
		b.learnIn(vrf, many(420, dev)...)
		full := false
		for k := 0; k < 1000 && !full; k += 20 {
			text := ""
			for n := k; n < k+20; n++ {
				text += fmt.Sprintf("route add 30.%d.%d.0/24 dev %s\n", n*37%256, n/256*32+n%7, dev)
			}
			before := b.Snapshot()
			if err := b.Change(text); err != nil {
				if full = true; !strings.Contains(err.Error(), "no room for the routes to XFRM interfaces") || b.Snapshot() != before {
					t.Errorf("%s: %d routes: %v", dev, k, err)
				}
			}
		}
		if !full || b.goesIn(vlan, "20.0.0.1") == "dropped " {
			t.Errorf("%s: refused %t, and packets are %s", dev, full, b.goesIn(vlan, "20.0.0.1"))
		}
	}
}
