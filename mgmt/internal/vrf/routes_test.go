// SPDX-License-Identifier: Apache-2.0

package vrf_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// vrf gives the box the VRF vN with the VLAN N.
func vrf(n int) string {
	return fmt.Sprintf("link add link red name red.%[1]d type vlan id %[1]d\nlink add v%[1]d type vrf table %[1]d\nlink set red.%[1]d master v%[1]d\n", n)
}

// routed4 and routed6 give it an address, and a route via a gateway.
func routed4(n int) string {
	return fmt.Sprintf("addr add 10.1.0.1/24 dev red.%[1]d\nneigh add 10.1.0.2 lladdr 02:00:00:00:04:%02[1]x dev red.%[1]d\nroute add 10.3.0.0/16 via 10.1.0.2 dev red.%[1]d\n", n)
}

func routed6(n int) string {
	return fmt.Sprintf("addr add 2001:db8:1::1/64 dev red.%[1]d\nneigh add 2001:db8:1::2 lladdr 02:00:00:00:06:%02[1]x dev red.%[1]d\nroute add 2001:db8:3::/48 via 2001:db8:1::2 dev red.%[1]d\n", n)
}

// hopTo is the gateway that the inner chip finds in a network: the end of its MAC address and its
// VLAN.
func hopTo(t *testing.T, r *testbox.Rig, network int, dst string) string {
	t.Helper()
	way, err := r.Fake.RouteIn(transport.Inner, network, netip.MustParseAddr(dst))
	if err != nil {
		t.Fatal(err)
	}
	var hop int
	if _, err := fmt.Sscanf(way, "[%d]", &hop); err != nil {
		return way
	}
	row := r.Fake.Table(transport.Inner, regs.InnerTableNextHop)[hop]
	mac := regs.NextHopRow.Mac.Get(row)
	return fmt.Sprintf("%02x:%02x in VLAN %d", mac>>32&0xff, mac>>40&0xff, regs.NextHopRow.TagBytes.Get(row)>>24&0xff)
}

// TestAllVRFsHaveRoutes: each of the 63 VRFs has an IPv4 and an IPv6 route via a gateway of its
// own, beside such a route of the box itself. All of them change in one batch, while the old ones
// stand.
func TestAllVRFsHaveRoutes(t *testing.T) {
	sizes := trees()
	sizes.PrefixBits, sizes.HostBits, sizes.Rules = 8, 9, 256
	r := testbox.New(t, sizes)
	var text, moves strings.Builder
	text.WriteString(black + "addr add 10.9.0.1/24 dev red\nneigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev red\nroute add 10.3.0.0/16 via 10.9.0.2 dev red\n")
	text.WriteString("addr add 2001:db8:9::1/64 dev red\n")
	for n := 1; n <= 63; n++ {
		text.WriteString(vrf(n) + routed4(n) + routed6(n))
		fmt.Fprintf(&moves, "route del 10.3.0.0/16 dev red.%[1]d\nroute add 10.4.0.0/14 via 10.1.0.2 dev red.%[1]d\n", n)
		fmt.Fprintf(&moves, "route del 2001:db8:3::/48 dev red.%[1]d\nroute add default via 2001:db8:1::2 dev red.%[1]d\n", n)
	}
	r.Must(text.String())
	hold := func(v4, v6, none string) {
		for n := 1; n <= 63; n++ {
			want := fmt.Sprintf("04:%02[1]x in VLAN %[1]d, 06:%02[1]x in VLAN %[1]d, ", n)
			r.Want(fmt.Sprint("network ", n), hopTo(t, r, n, v4)+", "+hopTo(t, r, n, v6)+", "+hopTo(t, r, n, none), want)
		}
		r.Want("network 0", hopTo(t, r, 0, "10.3.0.9"), "00:09 in VLAN 0")
	}
	hold("10.3.255.9", "2001:db8:3:ffff::9", "10.4.0.9")
	r.Must(moves.String())
	hold("10.7.0.9", "2a00::9", "10.3.0.9")
}

// TestMostTrees: a tree of one node for each VRF and IP version takes a row of the last level.
// Eight of its rows stay free for changes, so a chip of 128 has 120 trees. The next one is refused
// in one sentence, and nothing is written. All that are there change at the limit.
func TestMostTrees(t *testing.T) {
	sizes := trees()
	sizes.HostBits, sizes.Rules = 9, 256
	r := testbox.New(t, sizes)
	var text strings.Builder
	text.WriteString(black)
	for n := 1; n <= 59; n++ {
		text.WriteString(vrf(n) + routed4(n) + routed6(n))
	}
	r.Must(text.String() + vrf(60) + vrf(61) + routed4(60)) // 119
	r.Must(routed6(60))
	before, writes := r.Snapshot(), r.Fake.Writes
	err := r.Run(routed4(61))
	const full = "no room for the routes of the VRF v61: the chip's trees of prefixes have 128 rows on level 4, and changes need those that are left: remove prefixes"
	if err == nil || !strings.Contains(err.Error(), full) || strings.Contains(err.Error(), "\n") || !session.IsInput(err) {
		t.Error(err)
	}
	if r.Snapshot() != before || r.Fake.Writes != writes {
		t.Error("something was written")
	}
	text.Reset()
	for n := 1; n <= 60; n++ {
		fmt.Fprintf(&text, "route replace 10.3.0.0/16 via 10.1.0.3 dev red.%[1]d\nneigh add 10.1.0.3 lladdr 02:00:00:00:05:%02[1]x dev red.%[1]d\n", n)
	}
	r.Must(text.String())
	for n := 1; n <= 60; n++ {
		r.Want(fmt.Sprint("network ", n), hopTo(t, r, n, "10.3.0.9"), fmt.Sprintf("05:%02[1]x in VLAN %[1]d", n))
	}
	r.Must("route del 2001:db8:3::/48 dev red.7\nneigh del 2001:db8:1::2 dev red.7\naddr del 2001:db8:1::1/64 dev red.7\n")
	r.Must(routed4(61))
	r.Want("the last network", hopTo(t, r, 61, "10.3.0.9"), "04:3d in VLAN 61")
}
