// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// customers are two VRFs with a VLAN each. Their addresses, hosts and routes are Linux's.
const customers = `addr add 192.0.2.1/24 dev black
neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev black
addr add 10.1.0.1/24 dev red
link add link red name red.10 type vlan id 10
link add link red name red.20 type vlan id 20
link add blue type vrf table 10
link add green type vrf table 20
link set red.10 master blue
link set red.20 master green
`

// learnIn has Linux tell routes of a table.
func (b *box) learnIn(table uint32, changes ...learned.Change) {
	b.T.Helper()
	v, err := b.Daemon.Look()
	if err != nil {
		b.T.Fatal(err)
	}
	vrfs := v.Model().VRFs
	of := vrfs[slices.IndexFunc(vrfs, func(v model.VRF) bool { return v.Table == table })]
	if taken, err := b.Daemon.LearnRoutes(learned.OfTable(table, of.Name), changes); err != nil || !taken {
		b.T.Fatal(taken, err)
	}
}

// onVLAN is Linux's route to hosts straight behind a VLAN.
func onVLAN(prefix string, id uint16) learned.Change {
	change := via(prefix)
	change.Route.VLAN = id
	return change
}

// know has Linux know hosts: network, address and the last byte of the MAC address.
func (b *box) know(hosts ...string) {
	b.T.Helper()
	all := map[model.NextHop]xfrm.MAC{}
	for _, text := range hosts {
		var network, last int
		var ip string
		_, _ = fmt.Sscan(text, &network, &ip, &last)
		all[model.NextHop{Dev: xfrm.Red, IP: netip.MustParseAddr(ip), Network: network}] = xfrm.MAC{2, 0, 0, 0, 0, byte(last)}
	}
	if err := b.Daemon.Learn(all); err != nil {
		b.T.Fatal(err)
	}
}

// rows are the host rows of the inner chip: network, last byte of the MAC address, VLAN.
func (b *box) rows() string {
	var out []string
	f := regs.HostRow
	for _, row := range b.Fake.Table(transport.Inner, regs.InnerTableHost) {
		out = append(out, fmt.Sprintf("%d/%d/%d", f.Network.Get(row), f.Mac.Get(row)>>40, f.TagBytes.Get(row)>>24&0xff))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// goesIn says where the chip sends packets of a network: to hosts, to gateways by the last byte of
// their MAC addresses and their VLANs, or nowhere that its tree knows.
func (b *box) goesIn(network int, to string) string {
	b.T.Helper()
	way, err := b.Fake.RouteIn(transport.Inner, network, netip.MustParseAddr(to))
	if err != nil {
		b.T.Fatal(err)
	}
	var index int
	if n, _ := fmt.Sscanf(way, "[%d]", &index); n == 0 {
		return way
	}
	f := regs.NextHopRow
	row := b.Fake.Table(transport.Inner, regs.InnerTableNextHop)[index]
	if row == nil || f.Valid.Get(row) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d/%d", testbox.RowBytes(row)[5], f.TagBytes.Get(row)>>24&0xff)
}

// json is the output of `sallyctl -j`.
func (b *box) json(command string) string {
	b.T.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(command))
	if err != nil {
		b.T.Fatal(err)
	}
	v, err := b.Daemon.Look()
	if err != nil {
		b.T.Fatal(err)
	}
	out, err := v.Read(commands, session.Lists{JSON: true})
	if err != nil {
		b.T.Fatal(err)
	}
	return out
}

func (b *box) wantIn(network int, to, want string) {
	b.T.Helper()
	if got := b.goesIn(network, to); got != want {
		b.T.Errorf("packets of network %d to %s go to %q, want %q", network, to, got, want)
	}
}

// TestRoutesOfVRFs: Linux's routes of a table are those of its VRF, and of no other network.
func TestRoutesOfVRFs(t *testing.T) {
	b := newBox(t, 8)
	b.Must(customers)
	b.learnIn(10, onVLAN("10.1.0.0/24", 10), via("10.3.0.0/16", "10.1.0.2"))
	b.learnIn(20, onVLAN("10.1.0.0/24", 20), via("10.3.0.0/16", "10.1.0.3"), via("10.4.0.0/16", "10.1.0.3"))
	b.know("1 10.1.0.2 2", "2 10.1.0.3 3", "1 10.1.0.9 9", "2 10.1.0.9 99", "0 10.1.0.9 109")
	b.wantIn(1, "10.3.0.1", "2/10")
	b.wantIn(2, "10.3.0.1", "3/20")
	b.wantIn(1, "10.4.0.1", "")
	b.wantIn(0, "10.3.0.1", "")
	b.wantIn(1, "10.1.0.77", "connected")
	if got, want := b.rows(), "0/109/0 1/2/10 1/9/10 2/3/20 2/99/20"; got != want {
		t.Errorf("hosts %s, want %s", got, want)
	}
	if got, want := b.show("route show"), "10.1.0.0/24 dev red.10 vrf blue proto bgp metric 20\n10.3.0.0/16 via 10.1.0.2 dev red.10 vrf blue proto bgp metric 20\n"; !strings.HasPrefix(got, want) {
		t.Errorf("route show says %s", got)
	}
	if got := b.show("neigh show"); !strings.Contains(got, "10.1.0.9 dev red.20 lladdr 02:00:00:00:00:63 nud reachable\n") {
		t.Errorf("neigh show says %s", got)
	}
	if got := b.json("route show"); !strings.Contains(got, `"dev":"red.20","table":"20","protocol":"bgp"`) {
		t.Errorf("-j route show says %s", got)
	}
	// Written routes come first, and a change elsewhere leaves the gateways where they are.
	b.Must("route add 10.3.0.0/16 via 10.1.0.7 dev red.20\nneigh add 10.1.0.7 lladdr 02:00:00:00:00:07 dev red.20\n")
	b.Must(testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1001, 1, "dir out"))
	b.wantIn(2, "10.3.0.1", "7/20")
	b.wantIn(2, "10.4.0.1", "3/20")
	b.wantIn(1, "10.3.0.1", "2/10")
	b.learnIn(10, gone("10.3.0.0/16"))
	b.wantIn(1, "10.3.0.1", "")
	b.wantIn(1, "10.1.0.77", "connected")
	// The daemon comes again, and has what it had.
	b.Restart()
	b.learnIn(20, gone("10.4.0.0/16"))
	b.wantIn(2, "10.4.0.1", "")
	b.wantIn(2, "10.3.0.1", "7/20")
	b.wantIn(1, "10.1.0.77", "connected")
	if got, want := b.rows(), "0/109/0 1/2/10 1/9/10 2/3/20 2/7/20 2/99/20"; got != want {
		t.Errorf("hosts behind a restart %s, want %s", got, want)
	}
}

// TestVRFEnds: learned routes and hosts go with their VRF, and another one does not get them.
func TestVRFEnds(t *testing.T) {
	b := newBox(t, 8)
	b.Must(customers)
	b.learnIn(10, onVLAN("10.1.0.0/24", 10), via("10.3.0.0/16", "10.1.0.2"))
	b.know("1 10.1.0.2 2", "1 10.1.0.9 9")
	// Out of the VRF the VLAN's hosts are in reach no more.
	b.Must("link set red.10 nomaster\n")
	b.wantIn(1, "10.3.0.1", "none")
	if got := b.rows(); got != "" {
		t.Errorf("hosts without a VLAN: %s", got)
	}
	b.Must("link set red.10 master blue\n")
	b.wantIn(1, "10.3.0.1", "2/10")
	b.Must("link set red.10 nomaster\nlink del blue\n")
	b.wantIn(1, "10.3.0.1", "")
	b.Must("link add azure type vrf table 10\nlink set red.10 master azure\n")
	b.wantIn(1, "10.3.0.1", "")
	if got := b.show("route show") + b.show("neigh show") + b.rows(); strings.Contains(got, "red.10") || strings.Contains(got, "1/") {
		t.Errorf("the next VRF has %s", got)
	}
	b.Restart()
	if got := b.show("route show"); strings.Contains(got, "red.10") {
		t.Errorf("behind a restart there is %s", got)
	}
}

// TestNextVRF: a VRF that takes over a table, in a configuration or behind the end of another VRF,
// has none of the other's routes, not even if what follows the other's table still runs.
func TestNextVRF(t *testing.T) {
	none := func(b *box, name string) {
		b.T.Helper()
		v, err := b.Daemon.Look()
		if err != nil {
			b.T.Fatal(err)
		}
		b.wantIn(v.Model().NetworkOf(name), "10.3.0.1", "")
		if got := b.show("route show"); strings.Contains(got, "10.3.0.0/16") {
			b.T.Errorf("%s has %s", name, got)
		}
	}
	t.Run("configuration", func(t *testing.T) {
		b := newBox(t, 8)
		b.Must(customers)
		b.learnIn(10, onVLAN("10.1.0.0/24", 10), via("10.3.0.0/16", "10.1.0.2"))
		v, err := b.Daemon.Look()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.ReplaceAll(strings.Join(v.Config(), "\n")+"\n", "blue", "azure")
		commands, err := xfrm.ParseConfig("f", []byte(lines))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Daemon.Replace(commands); err != nil {
			t.Fatal(err)
		}
		none(b, "azure")
		b.Restart()
		none(b, "azure")
	})
	t.Run("late follower", func(t *testing.T) {
		b := apart{newBox(t, 8), &sync.Mutex{}}
		b.must(customers)
		f := newFollower(b.Of(learned.OfTable(10, "blue")), "the VRF blue", false, newRoom(10), NewPace(), slog.New(slog.DiscardHandler))
		f.table.Change(told("&", "10.3.0.0/16", 20, "10.1.0.2"))
		turn := func() {
			t.Helper()
			if err := f.check(false, false, false); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.step(); err != nil {
				t.Fatal(err)
			}
		}
		turn()
		if got := b.show("route show"); !strings.Contains(got, "10.3.0.0/16") {
			t.Fatalf("blue has %s", got)
		}
		b.must("link set red.10 nomaster\nlink del blue\n")
		b.must("link add azure type vrf table 10\nlink set red.10 master azure\n")
		turn()
		none(b.box, "azure")
	})
}

// TestLinkLocalGateways: equal addresses of one link alone are two gateways in two VLANs of a VRF.
func TestLinkLocalGateways(t *testing.T) {
	b := newBox(t, 8)
	b.Must(customers + "link add link red name red.30 type vlan id 30\nlink set red.30 master blue\n")
	b.learnIn(10, via("2001:db8:1::/48", "fe80::1%10"), via("2001:db8:2::/48", "fe80::1%30"))
	b.know("1 fe80::1%10 10", "1 fe80::1%30 30")
	b.wantIn(1, "2001:db8:1::1", "10/10")
	b.wantIn(1, "2001:db8:2::1", "30/30")
	if got := b.show("route show"); !strings.Contains(got, "2001:db8:2::/48 via fe80::1 dev red.30 vrf blue proto bgp") {
		t.Errorf("route show says %s", got)
	}
}
