// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// box is a fake box whose session is held, as a daemon holds it.
type box struct {
	*testbox.Held
	dev string // whose routes it learns
}

// sized are chips with a tree of so many leaves, as log2.
func sized(leafBits uint32) fakebox.Sizes {
	sizes := fakebox.Small
	sizes.PrefixBits = leafBits
	return sizes
}

func newBox(t *testing.T, leafBits uint32) *box {
	t.Helper()
	return &box{testbox.Hold(t, sized(leafBits)), xfrm.Red}
}

// onBoth runs a test with the routes of either port.
func onBoth(t *testing.T, test func(t *testing.T, dev string)) {
	for _, dev := range model.Devices {
		t.Run(dev, func(t *testing.T) { test(t, dev) })
	}
}

// newBoxOf makes a box with the network of tests at a port.
func newBoxOf(t *testing.T, dev string) *box {
	b := newBox(t, 8)
	b.dev = dev
	b.load(network)
	return b
}

// load carries out lines for red at the port of the test.
func (b *box) load(lines string) {
	b.T.Helper()
	b.Must(b.lines(lines))
}

// lines are those for red and black, with the port of the test in place of red.
func (b *box) lines(lines string) string {
	if b.dev == xfrm.Red {
		return lines
	}
	return strings.NewReplacer(xfrm.Red, xfrm.Black, xfrm.Black, xfrm.Red).Replace(lines)
}

// chip has the tables of the port.
func (b *box) chip() transport.Chip {
	return map[string]transport.Chip{xfrm.Red: transport.Inner, xfrm.Black: transport.Outer}[b.dev]
}

func (b *box) learn(changes ...learned.Change) {
	b.T.Helper()
	if taken, err := b.Daemon.LearnRoutes(b.dev, changes); err != nil || !taken {
		b.T.Fatal(taken, err)
	}
}

// show is the output of a command.
func (b *box) show(command string) string {
	b.T.Helper()
	var out strings.Builder
	b.Daemon.Out = &out
	b.Must(command + "\n")
	return out.String()
}

// via is a route of Linux to a prefix; without gateways to hosts straight behind red.
func via(prefix string, gateways ...string) learned.Change {
	r := &learned.Route{Prefix: netip.MustParsePrefix(prefix), Protocol: "bgp", Metric: 20}
	for _, gateway := range gateways {
		r.Via = append(r.Via, netip.MustParseAddr(gateway))
	}
	return learned.Change{Prefix: r.Prefix, Route: r}
}

func gone(prefix string) learned.Change {
	return learned.Change{Prefix: netip.MustParsePrefix(prefix)}
}

// goes says where the chip sends packets to an address: to hosts, to the MAC addresses of its next
// hops, or nowhere that the tree knows.
func (b *box) goes(to string) string {
	b.T.Helper()
	table := map[string]regs.Table{xfrm.Red: regs.InnerTableNextHop, xfrm.Black: regs.OuterTableNextHop}[b.dev]
	way, err := b.Fake.Route(b.chip(), netip.MustParseAddr(to))
	if err != nil {
		b.T.Fatal(err)
	}
	if way == "" || way == "connected" {
		return way
	}
	var macs []string
	for _, field := range strings.Fields(strings.Trim(way, "[]")) {
		var index int
		_, _ = fmt.Sscan(field, &index)
		row := b.Fake.Table(b.chip(), table)[index]
		if row == nil || regs.NextHopRow.Valid.Get(row) == 0 {
			macs = append(macs, "none")
			continue
		}
		macs = append(macs, fmt.Sprintf("%x", testbox.RowBytes(row)[5]))
	}
	slices.Sort(macs)
	return strings.Join(macs, " ")
}

func (b *box) want(to, want string) {
	b.T.Helper()
	if got := b.goes(to); got != want {
		b.T.Errorf("packets to %s go to %q, want %q", to, got, want)
	}
}

// network is red with gateways whose last byte of the MAC address is that of their address.
const network = `addr add 10.1.0.1/24 dev red
addr add 2001:db8:1::1/64 dev red
neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red
neigh add 10.1.0.3 lladdr 02:00:00:00:00:03 dev red
neigh add 10.1.0.4 lladdr 02:00:00:00:00:04 dev red
neigh add 2001:db8:1::5 lladdr 02:00:00:00:00:05 dev red
`

// TestWritten: the written routes and the port's own networks are in the tree; the longest prefix
// counts.
func TestWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newBoxOf(t, dev)
		b.want("10.1.0.9", "connected")
		b.want("2001:db8:1::9", "connected")
		b.want("10.2.0.1", "")
		b.load("route add default via 10.1.0.2 dev red\nroute add 10.2.0.0/16 via 10.1.0.3 dev red\nroute add 10.3.0.0/16 dev red\nroute add 2001:db8::/32 via 2001:db8:1::5 dev red\n")
		b.want("10.2.0.1", "3")
		b.want("10.3.0.1", "connected")
		b.want("11.0.0.1", "2")
		b.want("10.1.0.9", "connected")
		b.want("2001:db8:2::1", "5")
		b.want("2001:db8:1::7", "connected")
		b.load("route del 10.2.0.0/16 dev red\nroute del 10.3.0.0/16 dev red\n")
		b.want("10.2.0.1", "2")
		b.want("10.3.0.1", "2")
	})
}

// TestLearned: Linux's routes count as written ones do, with up to four gateways; a written one of
// the same prefix comes first, and Linux's is there again when that goes.
func TestLearned(t *testing.T) {
	b := newBox(t, 8)
	b.Must(network)
	nowhere := via("10.6.0.0/16")
	nowhere.Route.Type = "blackhole"
	b.learn(via("10.2.0.0/16", "10.1.0.2", "10.1.0.3"), via("10.0.0.0/8", "10.1.0.4"), via("10.5.0.0/16"), nowhere, via("2001:db8:2::/48", "2001:db8:1::5"))
	b.want("10.2.0.1", "2 3")
	b.want("10.9.0.1", "4")
	b.want("10.5.0.1", "connected")
	b.want("10.6.0.1", "none")
	b.want("10.1.0.9", "connected")
	b.want("2001:db8:2::1", "5")
	b.Must("route add 10.2.0.0/16 via 10.1.0.4 dev red\n")
	b.want("10.2.0.1", "4")
	b.learn(via("10.2.0.0/16", "10.1.0.2"))
	b.want("10.2.0.1", "4")
	b.Must("route del 10.2.0.0/16 dev red\n")
	b.want("10.2.0.1", "2")
	b.learn(gone("10.2.0.0/16"), gone("10.6.0.0/16"))
	b.want("10.2.0.1", "4")
	b.want("10.6.0.1", "4")
	b.learn(gone("10.0.0.0/8"), gone("10.5.0.0/16"), gone("2001:db8:2::/48"))
	b.want("10.9.0.1", "")
	b.want("2001:db8:2::1", "")
}

// TestGateways: the gateways of Linux's routes are hosts whose addresses are looked for, and have
// rows as long as a route leads there.
func TestGateways(t *testing.T) {
	b := newBox(t, 8)
	b.Must("addr add 10.1.0.1/24 dev red\n")
	b.learn(via("10.2.0.0/16", "10.1.0.7", "fe80::7"))
	v, err := b.Daemon.Look()
	if err != nil {
		t.Fatal(err)
	}
	wanted, _ := v.NextHops()
	if text := fmt.Sprint(wanted); text != "[{red 10.1.0.7 0} {red fe80::7 0}]" {
		t.Error(text)
	}
	b.want("10.2.0.1", "none none")
	macs := map[model.NextHop]xfrm.MAC{}
	for i, hop := range wanted {
		macs[hop] = xfrm.MAC{2, 0, 0, 0, 0, byte(7 + i)}
	}
	if err := b.Daemon.Learn(macs); err != nil {
		t.Fatal(err)
	}
	b.want("10.2.0.1", "7 8")
	b.learn(gone("10.2.0.0/16"))
	if rows := b.Fake.Table(transport.Inner, regs.InnerTableNextHop); len(rows) != 0 {
		t.Errorf("next hops are left: %v", rows)
	}
}

// TestFull: a written route without room refuses its batch, and changes nothing. Those of Linux are
// refused one by one, and are there once there is room.
func TestFull(t *testing.T) {
	b := newBox(t, 8)
	b.Must(network)
	most := prefixes.MostRoutes(1 << 8)
	var changes []learned.Change
	for n := range 4 * most {
		changes = append(changes, via(fmt.Sprintf("20.%d.%d.0/24", n*2/256, n*2%256), "10.1.0.2"))
	}
	for some := range slices.Chunk(changes, batch) {
		b.learn(some...)
	}
	v, err := b.Daemon.Look()
	if err != nil {
		t.Fatal(err)
	}
	refused := v.Model().FromLinux[xfrm.Red].Refused()
	if in := len(changes) - refused; refused == 0 || in < most {
		t.Errorf("%d of %d routes are in, %d are refused", in, len(changes), refused)
	}
	check := func() {
		t.Helper()
		for _, c := range changes {
			want := "2"
			if r := v.Model().FromLinux[xfrm.Red].Find(c.Prefix); r.Refused {
				want = ""
			}
			b.want(c.Prefix.Addr().String(), want)
		}
	}
	check()
	var text strings.Builder
	for n := range 4 * most {
		fmt.Fprintf(&text, "route add 30.%d.%d.0/24 via 10.1.0.3 dev red\n", n*2/256, n*2%256)
	}
	before := b.Snapshot()
	err = b.Change(text.String())
	if err == nil || !session.IsRefused(err) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a full tree says %v", err)
	}
	if b.Snapshot() != before {
		t.Error("a refused batch has changed the chips")
	}
	check()
	var first learned.Change
	for _, c := range changes {
		if v.Model().FromLinux[xfrm.Red].Find(c.Prefix).Refused {
			first = c
			break
		}
	}
	var leave []learned.Change
	for _, c := range changes[:20] {
		leave = append(leave, gone(c.Prefix.String()))
	}
	b.learn(leave...)
	b.learn(first)
	b.want(first.Prefix.Addr().String(), "2")
}

// TestRestart: the next daemon goes on with the tree, and its first change leaves it as it is.
func TestRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newBoxOf(t, dev)
		b.learn(via("10.2.0.0/16", "10.1.0.2", "10.1.0.3"), via("10.0.0.0/8", "10.1.0.4"))
		check := func() {
			b.want("10.2.0.1", "2 3")
			b.want("10.9.0.1", "4")
			b.want("10.1.0.9", "connected")
		}
		for range 40 {
			b.Restart()
			check()
			b.Fake.OnRow = func(fakebox.Row) { check() }
			b.learn(via("10.7.0.0/16", "10.1.0.3"))
			b.want("10.7.0.1", "3")
			b.learn(gone("10.7.0.0/16"))
			b.want("10.7.0.1", "4")
			b.Fake.OnRow = nil
		}
	})
}

// TestReset: chips that were reset get the tree back with the rest of the configuration.
func TestReset(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newBoxOf(t, dev)
		b.learn(via("10.2.0.0/16", "10.1.0.2", "10.1.0.3"))
		b.Fake.Reset()
		b.want("10.2.0.1", "")
		if taken, err := b.Daemon.LearnRoutes(b.dev, []learned.Change{via("10.3.0.0/16", "10.1.0.3")}); taken || err != nil {
			t.Error("chips without a configuration have taken a route", err)
		}
		if _, err := b.Daemon.Restore(); err != nil {
			t.Fatal(err)
		}
		b.want("10.2.0.1", "2 3")
		b.want("10.1.0.9", "connected")
	})
}

// TestKilled: wherever a change is cut short, no row leads to half of a tree, and the next daemon
// undoes the change or has it whole.
func TestKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		for at := 1; ; at += 7 {
			b := newBoxOf(t, dev)
			b.learn(via("10.2.0.0/16", "10.1.0.2"), via("10.0.0.0/8", "10.1.0.4"))
			b.Fake.FailAfter = at
			_, err := b.Daemon.LearnRoutes(b.dev, []learned.Change{via("10.2.0.0/16", "10.1.0.3", "10.1.0.2"), via("10.3.0.0/16", "10.1.0.3")})
			if err == nil {
				if at < 50 {
					t.Errorf("a change has %d accesses", at)
				}
				return
			}
			b.Fake.FailAfter = 0
			if got := b.goes("10.2.0.1"); got != "2" && got != "2 3" {
				t.Fatalf("killed at %d packets go to %q", at, got)
			}
			b.Restart()
			if _, err := b.Daemon.Undo(func([]xfrm.ID) {}); err != nil {
				t.Fatal(at, err)
			}
			b.learn(via("10.4.0.0/16", "10.1.0.3"))
			b.want("10.4.0.1", "3")
			if got := b.goes("10.2.0.1") + ", " + b.goes("10.3.0.1"); got != "2, 4" && got != "2 3, 3" {
				t.Fatalf("killed at %d packets go to %q behind it", at, got)
			}
		}
	})
}

// TestRandom: after each of many changes the chip sends packets as a list of the routes says.
func TestRandom(t *testing.T) {
	onBoth(t, func(t *testing.T, dev string) {
		b := newBoxOf(t, dev)
		random := rand.New(rand.NewPCG(1, 2))
		routes := map[netip.Prefix]string{}
		address := func() netip.Addr {
			return netip.AddrFrom4([4]byte{20, byte(random.IntN(3)), byte(random.IntN(256)), byte(random.IntN(256))})
		}
		for range 60 {
			var changes []learned.Change
			for range 1 + random.IntN(20) {
				p, _ := address().Prefix(8 + random.IntN(25))
				gateway := fmt.Sprint(2 + random.IntN(3))
				if delete(routes, p); random.IntN(3) == 0 {
					changes = append(changes, learned.Change{Prefix: p})
					continue
				}
				routes[p] = gateway
				changes = append(changes, via(p.String(), "10.1.0."+gateway))
			}
			if random.IntN(10) == 0 {
				b.Restart()
			}
			b.learn(changes...)
			for range 200 {
				to := address()
				want, bits := "", -1
				for p, gateway := range routes {
					if p.Contains(to) && p.Bits() > bits {
						want, bits = gateway, p.Bits()
					}
				}
				b.want(to.String(), want)
			}
		}
	})
}

// TestShown: routes of Linux are listed as `ip route` and `ip -j route` do, and a route that the
// tree cannot hold says so.
func TestShown(t *testing.T) {
	b := newBox(t, 8)
	b.Must(network)
	nowhere := via("10.6.0.0/16")
	nowhere.Route.Type = "prohibit"
	b.learn(via("10.2.0.0/16", "10.1.0.2", "fe80::1"), nowhere, via("10.5.0.0/16"), via("2001:db8::/65", "fe80::1"))
	want := "10.2.0.0/16 proto bgp metric 20\n\tnexthop via 10.1.0.2 dev red weight 1\n\tnexthop via inet6 fe80::1 dev red weight 1\n" +
		"10.5.0.0/16 dev red proto bgp metric 20\nprohibit 10.6.0.0/16 proto bgp metric 20\n2001:db8::/65 via fe80::1 dev red proto bgp metric 20 rt_offload_failed\n"
	if got := b.show("route show"); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	b.Daemon.JSON = true
	want = `[{"dst":"10.2.0.0/16","protocol":"bgp","metric":20,"flags":[],"nexthops":[{"gateway":"10.1.0.2","dev":"red","weight":1,"flags":[]},{"via":{"family":"inet6","host":"fe80::1"},"dev":"red","weight":1,"flags":[]}]},` +
		`{"dst":"10.5.0.0/16","dev":"red","protocol":"bgp","metric":20,"flags":[]},{"type":"prohibit","dst":"10.6.0.0/16","protocol":"bgp","metric":20,"flags":[]},` +
		`{"dst":"2001:db8::/65","gateway":"fe80::1","dev":"red","protocol":"bgp","metric":20,"flags":["rt_offload_failed"]}]` + "\n"
	if got := b.show("route show"); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	var notes strings.Builder
	b.Daemon.Notes = &notes
	b.Must("route add 2001:db8:9::/125 via 2001:db8:1::5 dev red\n")
	if !strings.Contains(notes.String(), "the route to 2001:db8:9::/125 is longer than /64 and shorter than /126") {
		t.Error(notes.String())
	}
	b.want("2001:db8:9::1", "")
}
