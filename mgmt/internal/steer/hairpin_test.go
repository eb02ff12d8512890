// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// back says where packets out of tunnels of a network go: "tunnel", "red" to a gateway or host, or
// "" without a route.
func (b *box) back(network int, to string) string {
	b.T.Helper()
	way, err := b.Fake.RouteIn(transport.Inner, network, netip.MustParseAddr(to))
	if err != nil {
		b.T.Fatal(err)
	}
	var row int
	if n, _ := fmt.Sscanf(way, "[%d]", &row); n == 0 {
		return map[string]string{"": "", "connected": "red"}[way]
	}
	hop := b.Fake.Table(transport.Inner, regs.InnerTableNextHop)[row]
	if regs.NextHopRow.Hairpin.Get(hop) == 1 && regs.NextHopRow.Valid.Get(hop) == 1 {
		return "tunnel"
	}
	return "red"
}

func (b *box) wantsBack(network int, want map[string]string) {
	b.T.Helper()
	for to, where := range want {
		if got := b.back(network, to); got != where {
			b.T.Errorf("network %d: packets out of tunnels to %s go to %q, not %q", network, to, got, where)
		}
	}
}

// TestBetweenTunnels: written routes lead packets out of tunnels back to black, the longest one
// counts, each in its network, and red's are as before.
func TestBetweenTunnels(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(network + `neigh add 10.1.0.2 lladdr 02:00:00:00:00:09 dev red
route add 10.3.0.0/16 via 10.1.0.2 dev red
route add 10.0.0.0/8 dev black encap xfrm
route add 2001:db8:2::/48 dev black encap xfrm
link add link red name red.7 type vlan id 7
link add blue type vrf table 7
link set red.7 master blue
route add 10.4.0.0/16 dev black encap xfrm table 7
`)
	b.wantsBack(0, map[string]string{"10.2.0.1": "tunnel", "10.3.0.1": "red", "11.0.0.1": "", "2001:db8:2::1": "tunnel", "2001:db8:3::1": ""})
	b.wantsBack(1, map[string]string{"10.4.0.1": "tunnel", "10.2.0.1": ""})
	commands, err := xfrm.ParseBatch("f", []byte("route show"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Daemon.Look()
	if err != nil {
		t.Fatal(err)
	}
	json, err := v.Read(commands, session.Lists{JSON: true})
	if want := `"dst":"10.4.0.0/16","dev":"black","encap":"xfrm","table":"7"`; err != nil || !strings.Contains(json, want) {
		t.Errorf("-j route show says %s, %v", json, err)
	}
	lines := strings.Join(b.model().Lines(), "\n")
	if !strings.Contains(lines, "route add 10.4.0.0/16 dev black encap xfrm vrf blue") {
		t.Errorf("the saved lines are %s", lines)
	}
	b.Must("route del 10.0.0.0/8 dev black encap xfrm\nroute del 10.4.0.0/16 vrf blue\n")
	b.wantsBack(0, map[string]string{"10.2.0.1": "", "10.3.0.1": "red"})
	b.wantsBack(1, map[string]string{"10.4.0.1": ""})
}

// TestHairpinOfInterfaces: one route back for all of a hub's prefixes is enough. Routes to XFRM
// interfaces choose the tunnel, and are for packets out of tunnels only behind such a route.
func TestHairpinOfInterfaces(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(network)
	for n := range 3 {
		b.Must("xfrm policy add dir out" + tunnel(n+1) + state(n+1, n+1))
	}
	b.learn(toward("10.5.0.0/16", "ipsec2"), toward("10.6.0.0/16", "ipsec3"), toward("10.7.0.0/16", "red"), toward("0.0.0.0/0", "ipsec1"))
	b.wantsBack(0, map[string]string{"10.5.0.1": "", "10.7.0.1": "", "11.0.0.1": ""})
	b.Must("route add 10.0.0.0/8 dev black encap xfrm\n")
	b.wantsBack(0, map[string]string{"10.5.0.1": "tunnel", "10.6.0.1": "tunnel", "11.0.0.1": ""})
	b.wants("10.5.0.1", "0x1002")
	b.wants("10.6.0.1", "0x1003")
	b.wants("11.0.0.1", "0x1001")
	b.wants("10.9.0.1", "0x1001") // for red's packets the route back says nothing
	b.Must("neigh add 10.1.0.2 lladdr 02:00:00:00:00:09 dev red\nroute add 10.5.0.0/16 via 10.1.0.2 dev red\n")
	b.wantsBack(0, map[string]string{"10.5.0.1": "red", "10.6.0.1": "tunnel"})
	b.Must("route del 10.5.0.0/16 dev red\n")
	b.wantsBack(0, map[string]string{"10.5.0.1": "tunnel"})
	b.learn(toward("10.5.0.0/16", ""))
	b.wantsBack(0, map[string]string{"10.5.0.1": "tunnel"})
	b.Must("route del 10.0.0.0/8 dev black encap xfrm\n")
	b.wantsBack(0, map[string]string{"10.6.0.1": ""})
}

// TestBetweenTunnelsRefused: anything that such a route cannot have is refused in one sentence, and
// nothing is written. It is listed as iproute2 does.
func TestBetweenTunnelsRefused(t *testing.T) {
	r := testbox.New(t, sized(8, 5))
	r.Quiet(network + "link add blue type vrf table 7\nroute add 2001:db8:2::/48 dev black encap xfrm\n")
	before := r.Snapshot()
	for text, reason := range map[string]string{
		"route add 10.5.0.0/16 dev red encap xfrm":                  "write `dev black encap xfrm`",
		"route add 10.5.0.0/16 dev black encap mpls":                "the encap of a route must be xfrm",
		"route add 10.5.0.0/16 via 192.0.2.9 dev black encap xfrm":  "has no gateway",
		"route add 10.5.0.0/16 dev black encap xfrm mtu 1400":       "has no mtu",
		"route add 224.0.0.0/4 dev black encap xfrm":                "never routed into a tunnel",
		"route add 2001:db8::1/128 dev black encap xfrm":            "longer than /64",
		"route add 2001:db8:2::/48 dev black encap xfrm":            "there is a route to 2001:db8:2::/48 on black encap xfrm already",
		"route add 10.5.0.0/16 dev black encap xfrm vrf pink":       "there is no VRF pink",
		"route add 10.5.0.0/16 dev black vrf blue":                  "black is not in the VRF blue",
		"route del 10.5.0.0/16 dev black encap xfrm":                "there is no route to 10.5.0.0/16",
		"route add 10.5.0.0/16 via 0.0.0.0 dev red":                 "the gateway 0.0.0.0 is no station",
		"route add 2001:db8:5::/48 via :: dev black":                "the gateway :: is no station",
		"neigh add 0.0.0.0 lladdr 02:00:00:00:00:09 dev red":        "the neighbour 0.0.0.0 is no station",
		"neigh add :: lladdr 02:00:00:00:00:09 dev black":           "the neighbour :: is no station",
		"route add 10.5.0.0/16 dev black encap xfrm table 8":        "no VRF has the table 8",
		"route add 10.5.0.0/16 dev black encap xfrm if_id 7":        "if_id",
		"route add 10.5.0.0/16 dev black encap":                     "the line ends where xfrm should follow",
		"route add default dev black encap xfrm via inet6 fe80::1 ": "has no gateway",
	} {
		if err := r.Run(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, not %s", text, err, reason)
		}
	}
	if r.Snapshot() != before {
		t.Error("a refused route has changed something")
	}
	r.Quiet("route show")
	if want := "2001:db8:2::/48 dev black encap xfrm\n"; !strings.Contains(r.Out, want) {
		t.Errorf("the list is %s", r.Out)
	}
	r = testbox.New(t, testbox.WithRules(64))
	if err := r.Run("addr add 192.0.2.1/24 dev black\nroute add 10.2.0.0/16 dev black encap xfrm\n"); err == nil || !strings.Contains(err.Error(), "no tree of prefixes") {
		t.Errorf("without a tree: %v", err)
	}
}

// TestNoRoomForWayBack: without a free next-hop row such a route is refused, in a VRF too, though
// only gateways of Linux have the rows.
func TestNoRoomForWayBack(t *testing.T) {
	sizes := sized(8, 5)
	sizes.NextHops = 4
	b := newBox(t, sizes)
	b.Must(network + "link add blue type vrf table 7\n")
	var routes []learned.Change
	for n := range 3 {
		p := netip.MustParsePrefix(fmt.Sprintf("20.%d.0.0/16", n))
		routes = append(routes, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Via: []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.1.0.%d", 5+n))}}})
	}
	if _, err := b.Daemon.LearnRoutes(xfrm.Red, routes); err != nil {
		t.Fatal(err)
	}
	for _, vrf := range []string{"", " vrf blue"} {
		if err := b.Change("route add 10.2.0.0/16 dev black encap xfrm" + vrf + "\n"); err == nil || !strings.Contains(err.Error(), "no room for the way back to black: the table of red has 4 rows") {
			t.Errorf("%q: %v", vrf, err)
		}
	}
}

// TestNoHostsBehindWayBack: a host that Linux knows at red takes no packets of a network behind a
// tunnel, also if it was known before, unless a longer route of red leads there.
func TestNoHostsBehindWayBack(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(strings.Replace(network, "10.1.0.1/24", "10.1.0.1/16", 1))
	hosts := func() (out []string) {
		for _, row := range b.Fake.Table(transport.Inner, regs.InnerTableHost) {
			out = append(out, fmt.Sprint(regs.HostRow.Mac.Get(row)>>40))
		}
		slices.Sort(out)
		return out
	}
	know := func() {
		all := map[model.NextHop]xfrm.MAC{}
		for n, ip := range []string{"10.1.2.5", "10.1.3.5", "10.1.2.200"} {
			all[model.NextHop{Dev: xfrm.Red, IP: netip.MustParseAddr(ip)}] = xfrm.MAC{2, 0, 0, 0, 0, byte(n + 1)}
		}
		if err := b.Daemon.Learn(all); err != nil {
			t.Fatal(err)
		}
	}
	know()
	if got := hosts(); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Fatalf("hosts %v", got)
	}
	b.Must("route add 10.1.2.0/24 dev black encap xfrm\n")
	if got := hosts(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("hosts behind a route back: %v", got)
	}
	know()
	b.Must("neigh add 10.1.2.5 lladdr 02:00:00:00:00:07 dev red\n")
	if got := hosts(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("hosts that come later: %v", got)
	}
	b.Must("route add 10.1.2.128/25 dev red\n")
	if got := hosts(); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("hosts of a longer route of red: %v", got)
	}
}
