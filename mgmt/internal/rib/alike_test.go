// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// hosts are the rows of hosts straight behind the port.
func (b *box) hosts() (rows []string) {
	table := map[string]regs.Table{xfrm.Red: regs.InnerTableHost, xfrm.Black: regs.OuterTableBlackHost}[b.dev]
	for _, row := range b.Fake.Table(b.chip(), table) {
		if regs.HostRow.Valid.Get(row) == 1 {
			rows = append(rows, fmt.Sprint("host ", row))
		}
	}
	slices.Sort(rows)
	return rows
}

// TestHostsOfRoutes: a route takes hosts' rows away or gives them, though a longer one holds the
// first of its addresses.
func TestHostsOfRoutes(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newBox(t, 8)
		b.dev = dev
		b.load("addr add 10.1.0.1/24 dev red\nneigh add 10.1.0.5 lladdr 02:00:00:00:00:05 dev red\n")
		b.learn(via("10.1.0.4/32", "10.1.0.2"))
		row := b.hosts()
		b.learn(via("10.1.0.4/31", "10.1.0.3"))
		if rows := b.hosts(); len(row) != 1 || len(rows) != 0 {
			t.Errorf("a host that a route has behind a gateway has the row %v, before it %v", rows, row)
		}
		b.learn(gone("10.1.0.4/31"))
		if rows := b.hosts(); !slices.Equal(rows, row) {
			t.Errorf("a host straight behind red has %v, want %v", rows, row)
		}
	})
}

// TestPartsAsWhole: whatever changes came one by one, the chip sends packets as if it had got the
// whole configuration at once.
func TestPartsAsWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		const bridge = "link set red master br0\nlink set black master br0"
		prefixes := []string{
			"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/24", "10.1.0.0/25", "10.1.0.4/31", "10.1.0.4/32",
			"10.5.0.0/16", "10.5.0.0/24", "10.5.1.0/24", "10.7.0.0/28", "::/0", "2001:db8:1::/63", "2001:db8:1::/64",
			"2001:db8:1::4/126", "2001:db8:1::4/127", "2001:db8:1::5/128", "2001:db8:6::/125", "2001:db8:6::4/126", "2001:db8:6::4/127", "2001:db8:6::5/128",
		}
		lines := []string{
			"addr del 10.1.0.1/24 dev red", "addr add 10.1.0.1/24 dev red", "addr add 10.5.0.1/24 dev red", "addr del 10.5.0.1/24 dev red",
			"link add link red name red.7 type vlan id 7", "addr add 10.7.0.1/24 dev red.7", "route add 10.5.0.0/16 via 10.7.0.9 dev red.7",
			"link add br0 type bridge\n" + bridge, "link set red nomaster\nlink set black nomaster\nlink del br0", "neigh del 10.5.1.7 dev red",
			"addr add 2001:db8:6::6/127 dev red", "addr del 2001:db8:6::6/127 dev red", "neigh replace 2001:db8:6::5 lladdr 02:00:00:00:00:65 dev red", "neigh del 2001:db8:6::5 dev red",
		}
		var to []netip.Addr
		for _, text := range strings.Fields("10.1.0.2 10.1.0.5 10.1.0.200 10.5.0.9 10.5.1.7 10.5.7.7 10.7.0.5 10.9.0.1 1.1.1.1 2001:db8:1::5 2001:db8:1:1::5 3000::1") {
			to = append(to, netip.MustParseAddr(text))
		}
		for seed := range uint64(10) {
			random := rand.New(rand.NewPCG(seed, 2))
			one := func(of ...string) string { return of[random.IntN(len(of))] }
			b := newBoxOf(t, dev)
			b.load("neigh add 10.5.1.7 lladdr 02:00:00:00:00:57 dev red\n")
			sends := func() string {
				rows := b.hosts()
				for _, addr := range to {
					rows = append(rows, fmt.Sprint(addr, " to ", b.goes(addr.String())))
				}
				return strings.Join(rows, "\n")
			}
			for step := range 60 {
				p := one(prefixes...)
				gateway := one("10.1.0.2", "10.1.0.3", "10.5.0.9", "10.1.0.77")
				if strings.Contains(p, ":") {
					gateway = one("2001:db8:1::5", "2001:db8:1::6", "fe80::7")
				}
				switch route := via(p); random.IntN(8) {
				case 0, 1:
					b.learn(via(p, gateway))
				case 2:
					route.Route.Type = one("", "blackhole")
					b.learn(route)
				case 3:
					b.learn(gone(p))
				case 4:
					// It may be there already.
					_ = b.Change(b.lines("route add " + p + " via " + gateway + " dev red\n"))
				case 5:
					_ = b.Change(b.lines("route del " + p + " dev red\n"))
				case 6:
					_ = b.Change(b.lines(one(lines...) + "\n"))
				case 7:
					macs := map[model.NextHop]xfrm.MAC{}
					for n, host := range []string{"10.1.0.5", "10.1.0.77", "10.1.0.200", "10.5.7.7", "2001:db8:1::6", "fe80::7", "2001:db8:6::7", "2001:db8:6::5"} {
						if random.IntN(2) == 0 {
							macs[model.NextHop{Dev: dev, IP: netip.MustParseAddr(host)}] = xfrm.MAC{2, 0, 0, 0, 1, byte(n)}
						}
					}
					if err := b.Daemon.Learn(macs); err != nil {
						t.Fatal(err)
					}
				}
				if random.IntN(4) == 0 {
					b.Restart()
				}
				if random.IntN(3) > 0 {
					continue
				}
				got := sends()
				b.Fake.Reset()
				if _, err := b.Daemon.Restore(); err != nil {
					t.Fatal(err)
				}
				if want := sends(); got != want {
					t.Fatalf("seed %d, step %d:\n%s\nwant\n%s", seed, step, got, want)
				}
			}
		}
	})
}
