// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// longNetwork is a port with gateways whose last byte of the MAC address is that of their address.
const longNetwork = `addr add 2001:db8:1::1/64 dev red
neigh add 2001:db8:1::5 lladdr 02:00:00:00:00:05 dev red
neigh add 2001:db8:1::6 lladdr 02:00:00:00:00:06 dev red
route add default via 2001:db8:1::6 dev red
`

func newLongBox(t *testing.T, dev string) *box {
	b := newBox(t, 8)
	b.dev = dev
	b.load(longNetwork)
	return b
}

// station is where a packet of a network goes: by the row of its host, or, in parentheses, by the
// tree of prefixes.
func (b *box) station(network int, to string) string {
	b.T.Helper()
	f := regs.HostRow
	if row := b.HostRow(b.chip(), network, netip.MustParseAddr(to)); row != nil {
		text := fmt.Sprintf("%x", f.Mac.Get(row)>>40)
		if f.Tags.Get(row) > 0 {
			text += fmt.Sprintf("/%d", f.TagBytes.Get(row)>>24&0xff)
		}
		return text
	}
	if network > 0 {
		return "(" + b.goesIn(network, to) + ")"
	}
	return "(" + b.goes(to) + ")"
}

func (b *box) wantAt(to, want string) {
	b.T.Helper()
	if got := b.station(0, to); got != want {
		b.T.Errorf("packets to %s go to %q, want %q", to, got, want)
	}
}

// hear has Linux know hosts of the port: address and the last byte of the MAC address.
func (b *box) hear(hosts map[string]byte) {
	b.T.Helper()
	all := map[model.NextHop]xfrm.MAC{}
	for ip, last := range hosts {
		all[model.NextHop{Dev: b.dev, IP: netip.MustParseAddr(ip)}] = xfrm.MAC{2, 0, 0, 0, 0, last}
	}
	if err := b.Daemon.Learn(all); err != nil {
		b.T.Fatal(err)
	}
}

// wanted are the hosts whose addresses the box needs.
func (b *box) wanted() map[string]bool {
	b.T.Helper()
	v, err := b.Daemon.Look()
	if err != nil {
		b.T.Fatal(err)
	}
	out := map[string]bool{}
	hops, _ := v.NextHops()
	for _, hop := range hops {
		out[fmt.Sprint(hop.Dev, " ", hop.IP)] = true
	}
	return out
}

// TestWrittenHostRoute: packets to an address that a written route has behind a gateway go there,
// and by the shorter route once it is gone. A neighbour line of the address comes first.
func TestWrittenHostRoute(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newLongBox(t, dev)
		b.wantAt("2001:db8:9::1", "(6)")
		b.load("route add 2001:db8:9::1/128 via 2001:db8:1::5 dev red\n")
		b.wantAt("2001:db8:9::1", "5")
		b.wantAt("2001:db8:9::2", "(6)")
		b.load("route replace 2001:db8:9::1/128 via 2001:db8:1::6 dev red\n")
		b.wantAt("2001:db8:9::1", "6")
		b.load("neigh add 2001:db8:9::1 lladdr 02:00:00:00:00:77 dev red\n")
		b.wantAt("2001:db8:9::1", "77")
		b.load("neigh del 2001:db8:9::1 dev red\nneigh replace 2001:db8:1::6 lladdr 02:00:00:00:00:66 dev red\n")
		b.wantAt("2001:db8:9::1", "66")
		b.Restart()
		b.wantAt("2001:db8:9::1", "66")
		b.load("route del 2001:db8:9::1/128 dev red\n")
		b.wantAt("2001:db8:9::1", "(66)")
		// Inside the port's own network, and a whole one of routers.
		b.wantAt("2001:db8:1::99", "(connected)")
		b.load("route add 2001:db8:1::99/128 via 2001:db8:1::5 dev red\nroute add 2001:db8:a::4/126 via 2001:db8:1::5 dev red\n")
		b.wantAt("2001:db8:1::99", "5")
		for to, want := range map[string]string{"2001:db8:a::3": "(66)", "2001:db8:a::4": "5", "2001:db8:a::7": "5", "2001:db8:a::8": "(66)"} {
			b.wantAt(to, want)
		}
	})
}

// TestLearnedHostRoute: a route of Linux to one address has the address of the first of its
// gateways that is known, as long as Linux has the route and the gateway that address.
func TestLearnedHostRoute(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newLongBox(t, dev)
		const to = "2001:db8:9::1"
		b.learn(via(to+"/128", "2001:db8:1::3", "2001:db8:1::4", "2001:db8:1::5"))
		b.wantAt(to, "5")
		for _, gateway := range []string{"2001:db8:1::3", "2001:db8:1::4"} {
			if !b.wanted()[dev+" "+gateway] {
				t.Errorf("the box does not look for %s: %v", gateway, b.wanted())
			}
		}
		b.hear(map[string]byte{"2001:db8:1::4": 4})
		b.wantAt(to, "4")
		b.hear(map[string]byte{"2001:db8:1::4": 0x44, "2001:db8:1::3": 3})
		b.wantAt(to, "3")
		b.hear(map[string]byte{"2001:db8:1::4": 0x44})
		b.wantAt(to, "44")
		b.Restart()
		b.wantAt(to, "44")
		b.learn(via(to+"/128", "fe80::9"))
		b.wantAt(to, "(6)") // not known, and nothing else says where
		if !b.wanted()[dev+" fe80::9"] || b.wanted()[dev+" "+to] {
			t.Errorf("the box looks for %v", b.wanted())
		}
		b.hear(map[string]byte{"fe80::9": 9})
		b.wantAt(to, "9")
		b.load("route add " + to + "/128 via 2001:db8:1::5 dev red\n")
		b.wantAt(to, "5")
		b.load("route del " + to + "/128 dev red\n")
		b.wantAt(to, "9")
		b.Restart()
		b.learn(gone(to + "/128"))
		b.wantAt(to, "(6)")
		if rows := b.hosts(); len(rows) != 2 {
			t.Errorf("rows of hosts are left: %v", rows)
		}
	})
}

// TestNowhere: no row of hosts drops packets, so a route of one address that leads nowhere is not
// obeyed, and says so. On the port's own network its packets find no host.
func TestNowhere(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newLongBox(t, dev)
		for _, kind := range []string{"blackhole", "unreachable", "prohibit"} {
			for _, to := range []string{"2001:db8:9::1", "2001:db8:1::9"} {
				route := via(to + "/128")
				route.Route.Type = kind
				b.learn(route)
				if got := b.show("route show"); !strings.Contains(got, kind+" "+to+" proto bgp metric 20 rt_offload_failed\n") {
					t.Error(got)
				}
			}
			b.hear(map[string]byte{"2001:db8:1::9": 9})
			b.wantAt("2001:db8:9::1", "(6)")
			b.wantAt("2001:db8:1::9", "(connected)")
		}
		v, err := b.Daemon.Look()
		if err != nil {
			t.Fatal(err)
		}
		if routes := v.Model().FromLinux[dev]; routes.Long() != 2 {
			t.Errorf("%d routes are too long", routes.Long())
		}
		b.learn(gone("2001:db8:1::9/128"))
		b.wantAt("2001:db8:1::9", "9")
	})
}

// TestLengths: routes of up to four addresses have rows, each address by its longest route; longer
// networks than /64 that are larger have none, and say so.
func TestLengths(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newLongBox(t, dev)
		b.learn(via("2001:db8:9::/64", "2001:db8:1::5"), via("2001:db8:a::/65", "2001:db8:1::5"), via("2001:db8:b::/125", "2001:db8:1::5"))
		b.wantAt("2001:db8:9::1", "(5)")
		b.wantAt("2001:db8:a::1", "(6)")
		b.wantAt("2001:db8:b::1", "(6)")
		if got := b.show("route show"); strings.Count(got, "rt_offload_failed") != 2 {
			t.Error(got)
		}
		b.hear(map[string]byte{"2001:db8:1::2": 2, "2001:db8:1::3": 3, "2001:db8:1::4": 4})
		b.learn(via("2001:db8:b::4/126", "2001:db8:1::2"), via("2001:db8:b::6/127", "2001:db8:1::3"), via("2001:db8:b::7/128", "2001:db8:1::4"))
		for last, want := range []string{4: "2", 5: "2", 6: "3", 7: "4", 8: "(6)"} {
			if want != "" {
				b.wantAt(fmt.Sprintf("2001:db8:b::%d", last), want)
			}
		}
		b.learn(gone("2001:db8:b::6/127"))
		b.wantAt("2001:db8:b::6", "2")
		b.wantAt("2001:db8:b::7", "4")
	})
}

// TestRoutersNetwork: the hosts of a network of two or four addresses have rows of their own, and
// are looked for before any packet comes, since a default route takes those of the others.
func TestRoutersNetwork(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		for bits, others := range map[int][]string{127: {"2001:db8:f::4"}, 126: {"2001:db8:f::4", "2001:db8:f::6", "2001:db8:f::7"}} {
			b := newBox(t, 8)
			b.dev = dev
			b.load(fmt.Sprintf("addr add 2001:db8:f::5/%d dev red\nroute add default via 2001:db8:f::4 dev red\n", bits))
			known := map[string]byte{}
			for n, host := range others {
				if !b.wanted()[dev+" "+host] {
					t.Errorf("/%d: the box does not look for %s", bits, host)
				}
				known[host] = byte(n + 1)
			}
			if b.wanted()[dev+" 2001:db8:f::5"] || len(b.wanted()) != len(others) {
				t.Errorf("/%d: the box looks for %v", bits, b.wanted())
			}
			b.hear(known)
			for n, host := range others {
				b.wantAt(host, fmt.Sprint(n+1))
			}
			b.wantAt("2001:db8:9::1", "(1)")
			// A longer route has one of them elsewhere, and the others stay hosts. The row of a
			// next hop does not say that packets of the network may go there.
			table := map[string]regs.Table{xfrm.Red: regs.InnerTableNextHop, xfrm.Black: regs.OuterTableNextHop}[dev]
			b.load("route add " + others[len(others)-1] + "/128 via fe80::8 dev red\n")
			for index, row := range b.Fake.Table(b.chip(), table) {
				if regs.NextHopRow.Subnet.Get(row) != 0 {
					t.Errorf("/%d: the next hop %d takes packets of the network", bits, index)
				}
			}
			b.load("route del " + others[len(others)-1] + "/128 dev red\n")
			b.learn(via(others[len(others)-1]+"/128", "fe80::9"))
			b.hear(map[string]byte{others[0]: 1, "fe80::9": 9})
			b.wantAt(others[len(others)-1], "9")
		}
	})
}
