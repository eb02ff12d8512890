// SPDX-License-Identifier: Apache-2.0

package vrf_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// customer is one of two with the same addresses: a VLAN, a VRF, a tunnel and hosts of its own.
func customer(name string, id, reqid int) string {
	lines := `link add link red name red.ID type vlan id ID
link add NAME type vrf table ID
link set red.ID master NAME
addr add 10.1.0.1/24 dev red.ID
neigh add 10.1.0.2 lladdr 02:00:00:00:00:ID dev red.ID
neigh add 10.1.0.9 lladdr 02:00:00:00:01:ID dev red.ID
route add 10.3.0.0/16 via 10.1.0.2 dev red.ID vrf NAME
` + testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1000+reqid, reqid, "dir out") + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2000+reqid, reqid, "dir in") + `
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dev NAME dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid REQ mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.0.0.0/8 dev NAME dir fwd priority 5 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid REQ mode tunnel
`
	return strings.NewReplacer("NAME", name, "ID", fmt.Sprint(id), "REQ", fmt.Sprint(reqid)).Replace(lines)
}

// trees gives a box whose inner chip has trees of prefixes.
func trees() fakebox.Sizes {
	sizes := fakebox.Small
	sizes.PrefixBits = 7
	return sizes
}

const black = "addr add 192.0.2.1/24 dev black\nneigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev black\n"

func TestTwoCustomersOfOneAddress(t *testing.T) {
	r := testbox.New(t, trees())
	r.Quiet(black + customer("blue", 10, 1) + customer("green", 20, 2))
	addr := netip.MustParseAddr
	at := func(vlan int, dst string) string {
		row, err := r.Decide(r.RulesNow(), testbox.Packet{Src: addr("10.1.0.9"), Dst: addr(dst), Proto: 17, SPort: 1, DPort: 2, VLAN: vlan})
		if err != nil {
			t.Fatal(err)
		}
		if row == nil {
			return "none"
		}
		return fmt.Sprint(regs.ActionNames[uint32(regs.FlowRow.Action.Get(row))], " ", regs.FlowRow.Sa.Get(row))
	}
	for vlan, want := range map[int]string{10: "protect 0", 20: "protect 1", 0: "none", 30: "none"} {
		r.Want(fmt.Sprintf("VLAN %d", vlan), at(vlan, "10.2.0.9"), want)
	}
	// The box's own address in each VLAN comes before the policies.
	for vlan, want := range map[int]string{10: "punt 0", 20: "punt 0", 0: "none"} {
		r.Want(fmt.Sprintf("own address at VLAN %d", vlan), at(vlan, "10.1.0.1"), want)
	}
	// What the tunnels carry comes out in the VRFs, and goes to their own gateways and hosts.
	for row, network := range map[int]uint64{0: 1, 1: 2} {
		if got := regs.SelectorRow.Network.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[row]); got != network {
			t.Errorf("SA %d comes out in network %d", row, got)
		}
		way, err := r.Fake.RouteIn(transport.Inner, int(network), addr("10.3.0.9"))
		hop := r.Fake.Table(transport.Inner, regs.InnerTableNextHop)[int(network)]
		mac := regs.NextHopRow.Mac.Get(hop) >> 40
		if err != nil || way != fmt.Sprintf("[%d]", network) || mac != uint64(network)<<4 {
			t.Errorf("network %d: the route is %s, %v, to a MAC that ends in %02x", network, way, err, mac)
		}
		tag := regs.NextHopRow.TagBytes.Get(hop) >> 24 & 0xff
		if regs.NextHopRow.Tags.Get(hop) != 1 || tag != uint64(10*network) {
			t.Errorf("network %d: the gateway is in VLAN %d", network, tag)
		}
	}
	if way, err := r.Fake.RouteIn(transport.Inner, 0, addr("10.3.0.9")); way != "" || err != nil {
		t.Errorf("network 0 has the route %s, %v", way, err)
	}
	macs := map[string]int{}
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableHost) {
		macs[fmt.Sprintf("%d %02x in VLAN %d", regs.HostRow.Network.Get(row), regs.HostRow.Mac.Get(row)>>40, regs.HostRow.TagBytes.Get(row)>>24&0xff)]++
	}
	if len(macs) != 2 || macs["1 10 in VLAN 10"] != 2 || macs["2 20 in VLAN 20"] != 2 {
		t.Errorf("hosts %v", macs)
	}
}

// TestVRFIsListedAndLoaded: what the box lists is what it takes, and what it was given.
func TestVRFIsListedAndLoaded(t *testing.T) {
	r := testbox.New(t, trees())
	r.Quiet(black + customer("blue", 10, 1) + customer("green", 20, 2))
	for command, want := range map[string]string{
		"link show":                  "link red name red.10 type vlan protocol 802.1Q id 10 master blue\nlink red name red.20 type vlan protocol 802.1Q id 20 master green\nblue type vrf table 10\ngreen type vrf table 20\n",
		"addr show":                  "10.1.0.1/24 dev red.10\n10.1.0.1/24 dev red.20\n",
		"route show":                 "10.3.0.0/16 via 10.1.0.2 dev red.10 vrf blue\n10.3.0.0/16 via 10.1.0.2 dev red.20 vrf green\n",
		"neigh show":                 "10.1.0.2 dev red.20 lladdr 02:00:00:00:00:20\n",
		"xfrm policy list dev green": "src 10.1.0.0/16 dst 10.2.0.0/16 dev green \n\tdir out ",
	} {
		r.Quiet(command)
		if !strings.Contains(r.Out, want) || strings.Contains(command, "green") && strings.Contains(r.Out, "blue") {
			t.Errorf("%s says %s", command, r.Out)
		}
	}
	r.Quiet("xfrm policy list src 10.1.0.0/16")
	if strings.Count(r.Out, "dev blue") != 1 || strings.Count(r.Out, "dev green") != 1 {
		t.Errorf("a list of all networks says %s", r.Out)
	}
	other := model.NewModel().Begin()
	if err := r.Session(func(s *session.Session) error {
		v, err := s.Look()
		if err != nil {
			return err
		}
		commands, err := xfrm.ParseConfig("f", []byte(strings.Join(v.Model().Lines(), "\n")))
		if err == nil {
			err = other.Replace(commands)
		}
		r.Want("lines", strings.Join(other.Lines(), "\n"), strings.Join(v.Model().Lines(), "\n"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r.Quiet("xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dev green dir out")
	r.Quiet("xfrm policy list")
	if strings.Contains(r.Out, "dev green \n\tdir out") || !strings.Contains(r.Out, "dev blue \n\tdir out") {
		t.Errorf("behind a deletion in green there is %s", r.Out)
	}
}

// TestNamesLikeWords: what the box lists of devices that are named like words of its commands, it
// takes.
func TestNamesLikeWords(t *testing.T) {
	for _, name := range []string{"dev", "name", "link", "type", "up", "down", "master", "nomaster", "mtu", "address", "table", "vrf", "via"} {
		for _, text := range []string{
			"link add link red name red.9 type vlan id 9\nlink add name NAME type vrf table 9\nlink set red.9 master NAME\naddr add 10.1.0.1/24 dev red.9\nroute add 10.3.0.0/16 via 10.1.0.2 vrf NAME\nxfrm policy add dst 10.2.0.0/16 dev NAME dir out action block\n",
			"link add link red name NAME type vlan id 9\nlink add blue type vrf table 9\nlink set dev NAME master blue\naddr add 10.1.0.1/24 dev NAME\nneigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev NAME\n",
			"link add name NAME type bridge\nlink set red master NAME\nlink set black master NAME\n",
			"link add name NAME type xfrm if_id 9\nroute add 10.3.0.0/16 dev NAME\n",
		} {
			var lines [2]string
			text = strings.ReplaceAll(text, "NAME", name)
			for n := range lines {
				commands, err := xfrm.ParseConfig("f", []byte(text))
				m := model.NewModel().Begin()
				if err == nil {
					err = m.Replace(commands)
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				text = strings.Join(m.Lines(), "\n")
				lines[n] = text
			}
			if lines[0] != lines[1] {
				t.Errorf("%s\n became\n%s", lines[0], lines[1])
			}
		}
	}
}

// TestRefusals: what would be half a VRF, or cross two of them, is refused in one sentence, and
// nothing is written.
func TestRefusals(t *testing.T) {
	base := black + "link add link red name red.30 type vlan id 30\nlink add link black name black.5 type vlan id 5\n" + customer("blue", 10, 1) + customer("green", 20, 2)
	tmpl := " tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel"
	r := testbox.New(t, trees())
	r.Must(base)
	for text, reason := range map[string]string{
		"link add blue type vrf table 30":                                                                                   "there is a device blue already",
		"link add pink type vrf table 20":                                                                                   "the VRF green has the table 20 already",
		"link add pink type vrf table 254":                                                                                  "not 253 to 255, which are Linux's own tables",
		"link add pink type vrf table 0":                                                                                    "the table must be 1 to 4294967295, not 0",
		"link add pink type vrf table 4294967296":                                                                           "the table must be a number of 0 to 4294967295",
		"link add pink type vrf":                                                                                            "a VRF is `link add NAME type vrf table N`",
		"link set red.30 master pink":                                                                                       "there is no VRF pink",
		"link set red master blue":                                                                                          "red cannot go into the VRF blue: a VRF has VLANs of red and XFRM interfaces alone",
		"link set black master blue":                                                                                        "black cannot go into the VRF blue",
		"link set black.5 master blue":                                                                                      "black.5 cannot go into the VRF blue: a VRF has VLANs of red alone",
		"link add link red.10 name red.10.1 type vlan id 1":                                                                 "red.10 is in the VRF blue, whose VLANs have no VLAN red.10.1 inside",
		"link add link red name ad type vlan protocol 802.1ad id 10":                                                        "ad has the id 10 of red.10, which is in the VRF blue",
		"link add link red.30 name in type vlan id 1\nlink set red.30 master blue":                                          "red.30 cannot go into a VRF beside in",
		"link del blue":                                                                                                     "the VRF blue has red.10: take it out first",
		"link del red.10":                                                                                                   "red.10 is in the VRF blue: take it out first",
		"link set red.10 nomaster\nlink del blue":                                                                           "the VRF blue has the policy",
		"link set red.30 master blue\naddr add 10.1.0.129/25 dev red.30":                                                    "overlaps 10.1.0.1/24 on red.10: the VLANs of the VRF blue are one network",
		"addr add 10.1.0.7/24 dev red.30\nlink set red.30 master blue":                                                      "overlaps 10.1.0.1/24 on red.10",
		"route add 10.9.0.0/16 via 10.1.0.2 dev red.10 vrf green":                                                           "red.10 is not in the VRF green",
		"route add 10.9.0.0/16 via 10.1.0.2 dev red.10 table 20":                                                            "the table 20 is not that of the device",
		"route add 10.9.0.0/16 via 10.1.0.2 table 77":                                                                       "no VRF has the table 77",
		"route add 10.9.0.0/16 via 10.1.0.2 vrf pink":                                                                       "there is no VRF pink",
		"xfrm policy add src 10.1.0.0/16 dst 10.9.0.0/16 dev pink dir out" + tmpl:                                           "there is no VRF pink",
		"xfrm policy add src 10.1.0.0/16 dst 10.9.0.0/16 dev red.10 dir out" + tmpl:                                         "red.10 is a VLAN of the VRF blue: name the VRF",
		"xfrm policy add src 10.1.0.0/16 dst 10.9.0.0/16 dev red.30 dir out" + tmpl:                                         "red.30 is a VLAN of no VRF: write `link set red.30 master NAME` and name the VRF",
		"xfrm policy add src 10.1.0.0/16 dst 10.9.0.0/16 dev green dir out" + tmpl:                                          "the SA spi 0x1001 has policies of two networks",
		"xfrm policy add src 10.1.0.0/16 dst 10.9.0.0/16 dir out" + tmpl:                                                    "the SA spi 0x1001 has policies of two networks",
		"xfrm policy add dst 10.9.0.0/16 dev blue dir out":                                                                  "would let clear packets out to black, which is in no VRF",
		"xfrm policy add dst 10.9.0.0/16 dev blue dir in":                                                                   "is for clear packets from black, which is in no VRF",
		"xfrm policy add dst 10.9.0.0/16 dev blue dir in action punt":                                                       "is for clear packets from black, which is in no VRF",
		"xfrm policy add dst 10.9.0.0/16 dev blue if_id 7 dir out" + tmpl:                                                   "no XFRM interface has if_id 0x7, so its policies are in no VRF: leave out dev blue",
		"xfrm policy add dst 10.9.0.0/16 dev blue dir out tmpl proto esp mode transport":                                    "needs a tmpl of mode tunnel: the packets of a VRF are routed",
		"xfrm policy add src 10.1.0.9 dst 10.1.0.1 proto udp sport 1 dport 2 dev blue dir out action block priority 0":      "is for packets to the box's own address",
		"link add br0 type bridge\nlink set red master br0\nlink set black master br0\nxfrm policy flush\nxfrm state flush": "the box is a bridge, which has no routes, and so it can have no VRF blue",
	} {
		before, writes := r.Snapshot(), r.Fake.Writes
		err := r.Run(text)
		if err == nil || !strings.Contains(err.Error(), reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %s", text, err, reason)
		}
		if r.Snapshot() != before || r.Fake.Writes != writes {
			t.Errorf("%s: something was written", text)
		}
	}
	for _, text := range []string{
		"xfrm policy add src 10.1.0.9 dst 10.1.0.1 proto udp sport 1 dport 2 dev blue dir out action block priority 1",
		"xfrm policy add dst 10.9.0.0/16 dev blue dir in action block",
		"link add pink type vrf table 252", "link add rose type vrf table 256", "link add last type vrf table 4294967295",
		"route add 10.9.0.0/16 via 10.1.0.2 table 10\nroute del 10.9.0.0/16 vrf blue",
	} {
		if err := r.Run(text); err != nil {
			t.Errorf("%s gave %v", text, err)
		}
	}
}

// TestAllVRFsAtOnce: as many as there may be come with their VLANs in one batch, as a saved
// configuration does, and all of their VLANs change their VRFs in another.
func TestAllVRFsAtOnce(t *testing.T) {
	r := testbox.New(t, fakebox.Small)
	var vrfs, moves strings.Builder
	for n := 1; n <= 63; n++ {
		fmt.Fprintf(&vrfs, "link add link red name red.%d type vlan id %d\nlink add v%d type vrf table %d\nlink set red.%d master v%d\n", n, n, n, n, n, n)
		fmt.Fprintf(&moves, "link set red.%d master v%d\n", n, n%63+1)
	}
	r.Must(black + vrfs.String())
	r.Must(moves.String() + "neigh add 192.0.2.3 lladdr 02:00:00:00:00:03 dev black\n")
	for n := 1; n <= 63; n++ {
		row := r.Fake.Table(transport.Inner, regs.InnerTableNetwork)[n]
		if got := regs.NetworkRow.Network.Get(row); got != uint64(n%63+1) || regs.NetworkRow.Valid.Get(row) != 1 {
			t.Errorf("VLAN %d is in network %d", n, got)
		}
	}
}

// TestMostVRFs: 63 fit, and not one more; nor does a new one take the number that another has up to
// this change.
func TestMostVRFs(t *testing.T) {
	r := testbox.New(t, fakebox.Small)
	var text strings.Builder
	for n := 1; n <= 62; n++ {
		fmt.Fprintf(&text, "link add v%d type vrf table %d\n", n, n)
	}
	r.Must(text.String())
	r.Must("link add v63 type vrf table 63")
	if err := r.Run("link add v64 type vrf table 64"); err == nil || !strings.Contains(err.Error(), "no room for the VRF v64: the inner chip has 63 networks for VRFs") || !session.IsInput(err) {
		t.Error(err)
	}
	if err := r.Run("link del v7\nlink add v64 type vrf table 64"); err == nil || !strings.Contains(err.Error(), "delete VRFs in one batch, and add others in the next") || !session.IsInput(err) {
		t.Error(err)
	}
	r.Must("link del v7\n")
	r.Must("link add v64 type vrf table 64\n")
}

// TestRoutesOfVRFs: a route of one VRF changes without the other's, and with the last one its tree
// goes.
func TestRoutesOfVRFs(t *testing.T) {
	r := testbox.New(t, trees())
	r.Quiet(black + customer("blue", 10, 1) + customer("green", 20, 2))
	ways := func(network int) string {
		way, err := r.Fake.RouteIn(transport.Inner, network, netip.MustParseAddr("10.3.0.9"))
		if err != nil {
			t.Error(err)
		}
		return way
	}
	r.Must("route del 10.3.0.0/16 vrf blue\n")
	r.Want("without blue's", ways(1)+" "+ways(2), " [2]")
	if _, has := r.Fake.Table(transport.Inner, regs.InnerTablePrefixRoot)[4]; has {
		t.Error("blue has a root still")
	}
	r.Must("route add 10.3.0.0/16 via 10.1.0.2 dev red.10\n")
	r.Want("again", ways(1)+" "+ways(2), "[1] [2]")
	r.Must("xfrm policy flush\nlink set red.10 nomaster\nroute del 10.3.0.0/16 dev red.10\nneigh del 10.1.0.2 dev red.10\nneigh del 10.1.0.9 dev red.10\naddr del 10.1.0.1/24 dev red.10\nlink del blue\n")
	if rows := r.Fake.Table(transport.Inner, regs.InnerTableNetwork); rows[10] != nil || rows[20] == nil {
		t.Errorf("networks %v", rows)
	}
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableHost) {
		if regs.HostRow.Network.Get(row) == 1 {
			t.Error("a host of blue is there still")
		}
	}
	r.Want("behind blue", ways(1)+" "+ways(2), " [2]")
}

// TestOneHostIsNoGateway: an SA of a VRF names no host as its next hop, even if there is one alone:
// packets to others would go there.
func TestOneHostIsNoGateway(t *testing.T) {
	r := testbox.New(t, trees())
	text := strings.Split(customer("blue", 10, 1), "neigh add 10.1.0.2")
	rest := text[1][strings.Index(text[1], "neigh add 10.1.0.9"):]
	route := rest[strings.Index(rest, "route"):]
	r.Quiet(black + text[0] + strings.Replace(rest, route, route[strings.Index(route, "\n")+1:], 1))
	if hop := regs.SelectorRow.NextHop.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]); hop != 0 {
		t.Errorf("the SA names the next hop %d", hop)
	}
}

// TestHostOfTheOtherVersion: an SA of both IP versions goes to the VRF's one gateway. A single host
// of the other version is no way to others.
func TestHostOfTheOtherVersion(t *testing.T) {
	r := testbox.New(t, trees())
	tmpl := "tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel\n"
	r.Quiet(black + customer("blue", 10, 1))
	r.Must("addr add 2001:db8::1/64 dev red.10\nneigh add 2001:db8::9 lladdr 02:00:00:00:02:10 dev red.10\n" +
		"xfrm policy deleteall dev blue dir fwd\n" +
		"xfrm policy add src ::/0 dst ::/0 dev blue dir in priority 5 " + tmpl +
		// So that the SA has two selector sets.
		"xfrm policy add dst 10.1.0.9 dev blue dir in priority 6 action block\n" +
		"xfrm policy add dev blue dir in priority 7 " + tmpl)
	hop := int(regs.SelectorRow.NextHop.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]))
	if row := r.Fake.Table(transport.Inner, regs.InnerTableNextHop)[hop]; row == nil || regs.NextHopRow.Mac.Get(row)>>40 != 0x10 {
		t.Errorf("the SA names the next hop %d: %v", hop, row)
	}
}

// TestHostBehindATunnelIsNoWay: a host whose packets go back to black through a tunnel is no
// station at red. An SA names the VRF's gateway beside it, and without a gateway no next hop.
func TestHostBehindATunnelIsNoWay(t *testing.T) {
	r := testbox.New(t, trees())
	mac := func() string {
		hop := int(regs.SelectorRow.NextHop.Get(r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]))
		if hop == 0 {
			return "none"
		}
		return fmt.Sprintf("%02x", regs.NextHopRow.Mac.Get(r.Fake.Table(transport.Inner, regs.InnerTableNextHop)[hop])>>40)
	}
	r.Must(black + customer("blue", 10, 1))
	r.Want("the gateway", mac(), "10")
	r.Must("route add 10.1.0.8/29 dev black encap xfrm vrf blue\n")
	r.Want("beside a host behind a tunnel", mac(), "10")
	r.Must("route del 10.3.0.0/16 vrf blue\nneigh del 10.1.0.2 dev red.10\n")
	r.Want("without a gateway", mac(), "none")
}

// TestNumbersGoRound: a VRF gets the number of one that is gone as late as can be, after a restart
// and a load too. Frames of that one may still wait for the CPU.
func TestNumbersGoRound(t *testing.T) {
	r := testbox.New(t, trees())
	number := func(name string) (n int) {
		if err := r.Session(func(s *session.Session) error {
			v, err := s.Look()
			if err == nil {
				n = v.Model().NetworkOf(name)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.Quiet("link add stays type vrf table 1000\n")
	last := number("stays")
	for turn := range 2 * 63 {
		name := fmt.Sprintf("vrf%d", turn)
		r.Quiet(fmt.Sprintf("link add %s type vrf table %d\n", name, turn+1))
		want := last%63 + 1
		if want == 1 {
			want = 2 // which stays has
		}
		if last = number(name); last != want || number("stays") != 1 {
			t.Fatalf("%s has the number %d, want %d", name, last, want)
		}
		r.Quiet("link delete " + name + "\n")
	}
}
