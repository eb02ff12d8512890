// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// slowRoute and slowLongest look at all routes one by one.
func slowRoute(n network, p netip.Prefix) (Kind, uint32) {
	if !learned.Treeable(p) || p.Addr().IsMulticast() {
		return Unsaid, 0
	}
	of := func(dev string) *model.Interface {
		if i := n.own.Interface(dev); i != nil && i.VRF == n.vrf {
			return i
		}
		return nil
	}
	kind := Unsaid
	for _, r := range n.own.Routes {
		if r.Prefix == p && r.Dev != model.Tunnels {
			if i := of(r.Dev); i != nil {
				return Routed, i.IfID
			}
			kind = Elsewhere
		}
	}
	for _, a := range n.own.Addrs {
		if a.Prefix.Masked() == p {
			kind = Elsewhere
		}
	}
	r := n.own.FromLinux[learned.Steering].Find(p)
	switch {
	case r != nil && r.Dev != "":
		if i := of(r.Dev); i != nil {
			return Routed, i.IfID
		}
		return Dropped, 0
	case kind == Elsewhere || r == nil:
		return kind, 0
	case r.Type != "":
		return Dropped, 0
	}
	return Elsewhere, 0
}

func slowLongest(n network, p netip.Prefix) (Kind, uint32) {
	best := netip.Prefix{}
	take := func(q netip.Prefix) {
		if xfrm.Within(q, p) && learned.Treeable(q) && (!best.IsValid() || q.Bits() > best.Bits()) {
			best = q
		}
	}
	for _, r := range n.own.Routes {
		if r.Dev != model.Tunnels {
			take(r.Prefix)
		}
	}
	for _, a := range n.own.Addrs {
		take(a.Prefix.Masked())
	}
	for r := range n.own.FromLinux[learned.Steering].All() {
		take(r.Prefix)
	}
	if !best.IsValid() {
		return Dropped, 0
	}
	return slowRoute(n, best)
}

// dice make prefixes that often hold each other.
type dice struct{ *rand.Rand }

func (d dice) prefix() netip.Prefix {
	if d.IntN(3) == 0 {
		p, _ := netip.AddrFrom16([16]byte{0x20, 1, byte(d.IntN(4) << 6), 7: byte(d.IntN(4)), 15: byte(d.IntN(3))}).Prefix([]int{0, 16, 18, 60, 63, 64, 64, 128}[d.IntN(8)])
		return p
	}
	p, _ := netip.AddrFrom4([4]byte{byte(10 + d.IntN(2)), byte(d.IntN(4) << 6), byte(d.IntN(3)), byte(d.IntN(3))}).Prefix([]int{0, 8, 9, 10, 16, 24, 31, 32}[d.IntN(8)])
	return p
}

// make makes a model of random routes in no VRF and in one, each with three interfaces.
func (d dice) make(t *testing.T) *model.Model {
	t.Helper()
	m := model.NewModel()
	run := func(must bool, text string) {
		commands, err := xfrm.ParseBatch("f", []byte(text))
		if err == nil {
			_, err = m.Apply(commands[0], model.Listing{})
		}
		if must && err != nil {
			t.Fatal(text, err)
		}
	}
	for _, line := range strings.Split("link add blue type vrf table 10\nlink add link red name red.10 type vlan id 10\nlink set red.10 master blue\naddr add 10.64.0.1/10 dev red\naddr add 10.64.1.1/24 dev red.10\naddr add 2001:4000::1/18 dev red.10", "\n") {
		run(true, line)
	}
	for n := range 6 {
		run(true, fmt.Sprintf("link add ipsec%d type xfrm dev black if_id %d", n, n+1))
		if n > 2 {
			run(true, fmt.Sprintf("link set ipsec%d master blue", n))
		}
	}
	for range d.IntN(40) {
		run(false, fmt.Sprintf("route add %s dev %s", d.prefix(), []string{"ipsec0", "ipsec1", "ipsec3", "ipsec4", "red", "black", "red.10", "black encap xfrm", "black encap xfrm vrf blue"}[d.IntN(9)]))
		n := d.IntN(6)
		run(false, fmt.Sprintf("xfrm policy add dst %s dir out if_id %d action block", d.prefix(), n+1))
	}
	for _, vrf := range []string{"", "blue"} {
		m.LearnRoutes(m.SteeringSet(vrf), d.changes(d.IntN(30)))
	}
	return m
}

// changes are of routes of Linux.
func (d dice) changes(count int) (out []learned.Change) {
	for range count {
		p := d.prefix()
		r := &learned.Route{Prefix: p}
		switch d.IntN(6) {
		case 0:
			r.Type = "blackhole"
		case 1:
			r.Elsewhere = true
		case 2:
			r = nil
		case 3: // out of red
		default:
			r.Dev = fmt.Sprint("ipsec", d.IntN(8)) // Linux alone has two
		}
		out = append(out, learned.Change{Prefix: p, Route: r})
	}
	return out
}

// TestTable: what a table finds, of all prefixes or of those that it is for, is found by looking at
// all routes one by one. A part of the tree is the same as in the whole one.
func TestTable(t *testing.T) {
	asked, kinds := 0, map[Kind]int{}
	for seed := range uint64(300) {
		d := dice{rand.New(rand.NewPCG(seed, 7))}
		m := d.make(t)
		for _, vrf := range []string{"", "blue"} {
			n := of(m, vrf)
			whole := n.table()
			for range 60 {
				p := d.prefix()
				kind, ifID := slowRoute(n, p)
				long, longID := slowLongest(n, p)
				for name, table := range map[string]*table{"whole": whole, "part": n.table(p)} {
					if got, id := table.route(p); got != kind || id != ifID {
						t.Fatalf("seed %d %s: the route of %s leads to %d %d, not %d %d", seed, name, p, got, id, kind, ifID)
					}
					if got, id := table.longest(p); got != long || id != longID {
						t.Fatalf("seed %d %s: the longest route to %s leads to %d %d, not %d %d", seed, name, p, got, id, long, longID)
					}
				}
				asked, kinds[long] = asked+1, kinds[long]+1
			}
			before := n.entries()
			set := m.SteeringSet(vrf)
			m.Settle()
			m = m.Begin()
			m.LearnRoutes(set, d.changes(1+d.IntN(8)))
			n = of(m, vrf)
			for p, lead := range n.changed(m.Changes.Routes[set]) {
				if before[p] = lead; lead.Kind == Unsaid {
					delete(before, p)
				}
			}
			if !maps.Equal(before, n.entries()) {
				t.Fatalf("seed %d VRF %q: a part makes another tree than all anew", seed, vrf)
			}
		}
	}
	if t.Log(asked, kinds); kinds[Routed] < asked/10 || kinds[Elsewhere] < asked/10 || kinds[Dropped] < asked/10 {
		t.Error("too few to show anything")
	}
}
