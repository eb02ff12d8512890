// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/learned"
)

// The devices of Linux: red is 1 and black 2.
func vlanLink(index, parent, id, master int) netlink.Link {
	return &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("sp-red.%d", id), Index: index, ParentIndex: parent, MasterIndex: master, NetNsID: -1, Flags: net.FlagUp}, VlanId: id, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
}

func tunLink(index int, name string, master int) netlink.Link {
	return &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name, Index: index, MasterIndex: master, Flags: net.FlagUp}}
}

func vrfLink(index int, name string, table uint32) netlink.Link {
	return &netlink.Vrf{LinkAttrs: netlink.LinkAttrs{Name: name, Index: index}, Table: table}
}

// twoVRFs are those of the box: blue has VLAN 10 and table 10, green VLAN 20 and table 20.
func twoVRFs() []VRF {
	of := func(name string, id uint16) VRF {
		return VRF{name, uint32(id), map[uint16]VLAN{id: {fmt.Sprintf("red.%d", id), 0x8100}}, nil}
	}
	return []VRF{of("blue", 10), of("green", 20)}
}

// TestMembers: a VLAN counts that Linux and the box have in one VRF, or that Linux has in none; all
// else is named.
func TestMembers(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 1}, {index: 2}}}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0", Index: 9}}
	other := vlanLink(5, 1, 10, 0)
	other.(*netlink.Vlan).VlanProtocol = netlink.VLAN_PROTOCOL_8021AD
	for _, c := range []struct {
		name   string
		links  []netlink.Link
		vlans  string // that fit
		tables string // that count
		reason string // the beginnings of the sentences
	}{
		{"alike", []netlink.Link{vrfLink(3, "blue", 10), vrfLink(4, "green", 20), vlanLink(5, 1, 10, 3), vlanLink(6, 1, 20, 4)}, "10 20", "10 20", ""},
		{"rules of Linux", []netlink.Link{vlanLink(5, 1, 10, 0)}, "10", "10 20", ""},
		{"not of red", []netlink.Link{vlanLink(5, 2, 10, 0), vlanLink(6, 7, 20, 0)}, "", "10 20", ""},
		{"another VRF", []netlink.Link{vrfLink(3, "blue", 10), vrfLink(4, "green", 20), vlanLink(5, 1, 10, 4)}, "", "10 20", "the device sp-red.10 of VLAN 10 is in the VRF green in Linux, and in blue in the box"},
		{"no VRF in the box", []netlink.Link{vrfLink(3, "blue", 10), vlanLink(5, 1, 30, 3)}, "", "10 20", "the device sp-red.30 of VLAN 30 is in the VRF blue in Linux, and in none in the box"},
		{"of no VRF anywhere", []netlink.Link{vlanLink(5, 1, 30, 0)}, "", "10 20", ""},
		{"a bridge", []netlink.Link{bridge, vlanLink(5, 1, 10, 9)}, "", "10 20", "the device sp-red.10 of VLAN 10 is in the bridge br0 in Linux"},
		{"another table", []netlink.Link{vrfLink(3, "blue", 11), vlanLink(5, 1, 10, 3), vlanLink(6, 1, 20, 0)}, "20", "20", "the VRF blue has the table 11 in Linux, and 10 in the box; the device sp-red.10"},
		{"another name", []netlink.Link{vrfLink(3, "azure", 10), vlanLink(5, 1, 10, 3)}, "", "20", "the table 10 is that of the VRF azure in Linux, and of blue in the box"},
		{"a table without VRF", []netlink.Link{vrfLink(3, "azure", 30)}, "", "10 20", "the box has no VRF azure with the table 30"},
		{"another protocol", []netlink.Link{other}, "", "10 20", "the device sp-red.10 has the protocol 0x88a8 in Linux, and VLAN 10 has 0x8100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := d.vlansOf(c.links).match(twoVRFs())
			var vlans, tables []string
			for id := range m.names {
				vlans = append(vlans, fmt.Sprint(id))
			}
			for table, counts := range m.tables {
				if counts {
					tables = append(tables, fmt.Sprint(table))
				}
			}
			slices.Sort(vlans)
			slices.Sort(tables)
			if got := strings.Join(vlans, " "); got != c.vlans {
				t.Errorf("VLANs %q fit, want %q", got, c.vlans)
			}
			if got := strings.Join(tables, " "); got != c.tables {
				t.Errorf("tables %q count, want %q", got, c.tables)
			}
			reasons := strings.Split(c.reason, "; ")
			if c.reason == "" {
				reasons = nil
			}
			if len(m.ignored) != len(reasons) {
				t.Fatalf("ignored: %q", m.ignored)
			}
			for i, want := range reasons {
				if !strings.HasPrefix(m.ignored[i], want) {
					t.Errorf("ignored: %s, want %s", m.ignored[i], want)
				}
			}
		})
	}
}

// TestManyIgnored: a bounded number of things is named, whatever Linux has.
func TestManyIgnored(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 1}, {index: 2}}}
	var links []netlink.Link
	for n := range 2 * mostIgnored {
		links = append(links, vrfLink(10+n, fmt.Sprint("v", n), uint32(1000+n)))
	}
	d.members.Store(d.vlansOf(links).match(twoVRFs()))
	if got := d.Ignored(); len(got) != mostIgnored+1 || got[mostIgnored] != "further things of Linux's VRFs do not fit" {
		t.Errorf("%d are named, the last %s", len(got), got[len(got)-1])
	}
}

// TestVLANsChange: a change of a VLAN of red, or of a VRF, is seen; others are not.
func TestVLANsChange(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 1}, {index: 2}}}
	d.interfaces.taps = []*tap{{index: 11, name: "ipsec7"}}
	v := d.vlansOf([]netlink.Link{vrfLink(3, "blue", 10), vlanLink(5, 1, 10, 0)})
	for _, c := range []struct {
		link netlink.Link
		gone bool
		want bool
	}{
		{vlanLink(5, 1, 10, 0), false, false},
		{vlanLink(5, 1, 10, 3), false, true},
		{vlanLink(7, 2, 10, 3), false, false},
		{vlanLink(8, 1, 20, 0), false, true},
		{&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: 9}}, false, false},
		{vrfLink(3, "blue", 10), false, false},
		{vrfLink(3, "blue", 10), true, true},
		{tunLink(11, "ipsec7", 0), false, true},
		{tunLink(11, "ipsec7", 0), false, false},
		{tunLink(11, "ipsec7", 3), false, true},
		{tunLink(12, "sp-vpn", 3), false, false},
		{tunLink(11, "ipsec7", 3), true, true},
		{vlanLink(8, 1, 20, 0), true, true},
		{vlanLink(8, 1, 20, 0), true, false},
	} {
		u := netlink.LinkUpdate{Link: c.link}
		u.Index = int32(c.link.Attrs().Index)
		if got := v.follow(u, c.gone); got != c.want {
			t.Errorf("%T %+v gone %t: changed %t", c.link, c.link.Attrs(), c.gone, got)
		}
	}
}

// TestRoutesOfTables: a route of the table of a VRF leads out of the VRF's VLANs, or nowhere.
func TestRoutesOfTables(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 1}, {index: 2}}}
	d.interfaces.taps = []*tap{{index: 9, name: "ipsec7"}}
	all := d.vlansOf([]netlink.Link{vlanLink(5, 1, 10, 0), vlanLink(6, 1, 20, 0), tunLink(9, "ipsec7", 0)})
	vrfs := twoVRFs()
	vrfs[0].Interfaces = []string{"ipsec7"}
	m := all.match(vrfs)
	_, dst, _ := net.ParseCIDR("10.3.0.0/16")
	_, dst6, _ := net.ParseCIDR("2001:db8::/32")
	for _, c := range []struct {
		route netlink.Route
		want  string
	}{
		{netlink.Route{Table: 10, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 5}, "10 10.3.0.0/16 10 []"},
		{netlink.Route{Table: 10, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 5, Gw: net.IPv4(10, 1, 0, 2)}, "10 10.3.0.0/16 0 [10.1.0.2]"},
		{netlink.Route{Table: 20, Dst: dst6, Type: unix.RTN_UNICAST, LinkIndex: 6, Gw: net.ParseIP("fe80::1")}, "20 2001:db8::/32 0 [fe80::1%20]"},
		{netlink.Route{Table: 20, Dst: dst, Type: unix.RTN_UNREACHABLE, Priority: 1}, "20 10.3.0.0/16 0 [] unreachable"},
		{netlink.Route{Table: 20, Dst: dst, Type: unix.RTN_LOCAL, LinkIndex: 6}, ""},
		{netlink.Route{Table: 30, Dst: dst, Type: unix.RTN_UNREACHABLE}, ""},
		{netlink.Route{Table: 20, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 2}, ""},
		{netlink.Route{Table: 20, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 5}, ""},
		{netlink.Route{Table: 254, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 5}, ""},
		{netlink.Route{Table: 10, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 9}, ""},
		{netlink.Route{Table: 20, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 9}, ""},
		{netlink.Route{Table: 30, Dst: dst, Type: unix.RTN_UNICAST, LinkIndex: 9}, ""},
	} {
		c.route.Family = netlink.FAMILY_V4
		if c.route.Dst == dst6 {
			c.route.Family = netlink.FAMILY_V6
		}
		change, ok := routeChange(func(table int) leadsTo { return m.leads(all, table) }, c.route)
		got := ""
		if ok {
			got = strings.TrimSpace(fmt.Sprint(change.Table, " ", change.Route.Prefix, " ", change.Route.VLAN, " ", change.Route.Via, " ", change.Route.Type))
		}
		if got != c.want {
			t.Errorf("%v is read as %q, want %q", c.route, got, c.want)
		}
	}
	want := []string{
		"Linux has routes out of sp-red.10 in the table 20, which is not that of the VRF of VLAN 10 in the box: they are ignored",
		"Linux has routes out of sp-red.10 in the table 254, which is not that of the VRF of VLAN 10 in the box: they are ignored",
		"Linux has routes out of ipsec7 in the table 20, whose VRF does not have the interface in the box: they lead to no tunnel",
	}
	if !slices.Equal(m.ignored, want) {
		t.Errorf("ignored: %q", m.ignored)
	}
}

// TestSteeringOfTables: all routes of a table count whose VRF has an XFRM interface, in the box or
// in Linux: to the device of the interface, elsewhere or nowhere. What does not fit is named.
func TestSteeringOfTables(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 1}, {index: 2}}}
	d.interfaces.taps = []*tap{{index: 7, name: "ipsec7"}, {index: 8, name: "ipsec8"}}
	all := []netlink.Link{vrfLink(3, "blue", 10), vrfLink(4, "green", 20), vlanLink(5, 1, 10, 3), vlanLink(6, 1, 20, 4)}
	ways := func(indices ...int) (out []*netlink.NexthopInfo) {
		for _, index := range indices {
			out = append(out, &netlink.NexthopInfo{LinkIndex: index})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		boxes    [2][]string // interfaces of blue and green in the box
		masters  [2]int      // of ipsec7 and ipsec8 in Linux
		steering string      // tables
		reasons  string
	}{
		{"none", [2][]string{}, [2]int{}, "", ""},
		{"in the box", [2][]string{{"ipsec7"}}, [2]int{}, "10", ""},
		{"in both", [2][]string{{"ipsec7"}, {"ipsec8"}}, [2]int{3, 4}, "10 20", ""},
		{"in Linux first", [2][]string{}, [2]int{0, 4}, "20", "the device ipsec8 is in the VRF green in Linux, and in no VRF in the box"},
		{"another VRF", [2][]string{{"ipsec7"}}, [2]int{4}, "10 20", "the device ipsec7 is in the VRF green in Linux, and in the VRF blue in the box: Linux's routes over it in another table than 10 lead to no tunnel"},
		{"no device", [2][]string{{"ipsec9"}}, [2]int{}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			vrfs := twoVRFs()
			vrfs[0].Interfaces, vrfs[1].Interfaces = c.boxes[0], c.boxes[1]
			v := d.vlansOf(append(slices.Clone(all), tunLink(7, "ipsec7", c.masters[0]), tunLink(8, "ipsec8", c.masters[1])))
			m := v.match(vrfs)
			var tables []string
			for _, table := range []int{10, 20, 30, 254} {
				if m.steers(v, table) != nil {
					tables = append(tables, fmt.Sprint(table))
				}
			}
			if got := strings.Join(tables, " "); got != c.steering {
				t.Errorf("tables %q steer, want %q", got, c.steering)
			}
			if c.reasons == "" != (len(m.ignored) == 0) || len(m.ignored) > 0 && !strings.HasPrefix(m.ignored[0], c.reasons) {
				t.Errorf("ignored: %q", m.ignored)
			}
			of := m.steers(v, 10)
			if of == nil {
				return
			}
			for _, r := range []struct {
				ways []*netlink.NexthopInfo
				want learned.Route
			}{
				{ways(7), learned.Route{Dev: "ipsec7"}},
				{ways(8, 7), learned.Route{Dev: "ipsec8"}}, // the box knows that it is not there
				{ways(7, 5), learned.Route{Elsewhere: true}},
				{ways(7, 6), learned.Route{Dev: "ipsec7"}}, // that VLAN is of another VRF
				{ways(5), learned.Route{Elsewhere: true}},
				{ways(2), learned.Route{Elsewhere: true}},
			} {
				var got learned.Route
				if !of(&got, r.ways) || !got.Same(&r.want) {
					t.Errorf("%v is read as %+v, want %+v", r.ways, got, r.want)
				}
			}
			if nowhere := (learned.Route{Type: "blackhole"}); !of(&nowhere, nil) || of(&learned.Route{}, nil) {
				t.Error("a route to nowhere does not count, or one without a way does")
			}
		})
	}
}

// TestNeighbourOfVLAN: a host on the device of a VLAN of red is one of that VLAN.
func TestNeighbourOfVLAN(t *testing.T) {
	d := Devices{taps: [2]*tap{{index: 1}, {index: 2}}}
	all := d.vlansOf([]netlink.Link{vlanLink(5, 1, 10, 0), vlanLink(6, 2, 20, 0)})
	for index, want := range map[int]string{1: "0/0", 2: "1/0", 5: "0/10", 6: ""} {
		update := netlink.NeighUpdate{Type: unix.RTM_NEWNEIGH, Neigh: netlink.Neigh{
			LinkIndex: index, State: netlink.NUD_REACHABLE, IP: net.IP{10, 1, 0, 9}, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 9},
		}}
		got := ""
		if n, ok := d.neighbour(all, update); ok {
			got = fmt.Sprintf("%d/%d", n.Port, n.VLAN)
		}
		if got != want {
			t.Errorf("device %d: %q, want %q", index, got, want)
		}
	}
}
