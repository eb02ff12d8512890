// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// restart is a chip that a daemon wrote, and what the daemon had written there.
type restart struct {
	hw   *chip
	have map[netip.Prefix]Hops
}

// after is a chip with random routes, none of them held by a table any more.
func after(t *testing.T, r *rand.Rand, number int) restart {
	t.Helper()
	table, s := NewTable(256), restart{newChip(), map[netip.Prefix]Hops{}}
	for range number {
		route := Route{nested(r), hops(t, uint8(r.IntN(40)), uint8(r.IntN(3)))}
		if r.IntN(5) == 0 {
			for prefix := range s.have {
				route = Route{prefix, Hops{}}
				break
			}
		}
		if s.have[route.Prefix] = route.Hops; route.Hops == (Hops{}) {
			delete(s.have, route.Prefix)
		}
		writes, err := table.Apply([]Route{route})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range writes {
			s.hw.write(t, w)
		}
	}
	return s
}

// at is where the chip sends packets to an address.
func (c *chip) at(addr netip.Addr) Hops {
	row, _ := c.read(regs.InnerTableHopGroup, int(c.lookup(addr)))
	if c.lookup(addr) == 0 {
		return Hops{}
	}
	return decode(row)
}

func routesOf(want map[netip.Prefix]Hops) (routes []Route) {
	for prefix, h := range want {
		routes = append(routes, Route{prefix, h})
	}
	return routes
}

// TestResumeSame: with the same routes nothing is written, and the table goes on as before.
func TestResumeSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, number := range []int{0, 1, 5, 500} {
		s := after(t, r, number)
		table, err := Resume(256, s.hw.read)
		if err != nil {
			t.Fatal(err)
		}
		if writes, err := table.Apply(routesOf(s.have)); len(writes) > 0 || err != nil {
			t.Errorf("%d routes: %d writes, %v", len(s.have), len(writes), err)
		}
		check(t, table.tree)
		s.turn(t, r, table, map[netip.Prefix]Hops{netip.MustParsePrefix("10.0.0.0/8"): hops(t, 77)})
	}
}

// turn adds routes, and holds the chip against the old and the new ones after each write.
func (s *restart) turn(t *testing.T, r *rand.Rand, table *Table, more map[netip.Prefix]Hops) {
	t.Helper()
	want := maps.Clone(s.have)
	maps.Copy(want, more)
	writes, err := table.Apply(routesOf(more))
	if err != nil {
		t.Fatal(err)
	}
	s.follow(t, r, writes, want)
	check(t, table.tree)
}

// follow makes writes: after each one every packet goes where it went, or where it is to go.
func (s *restart) follow(t *testing.T, r *rand.Rand, writes Writes, want map[netip.Prefix]Hops) {
	t.Helper()
	var near []netip.Prefix
	near = slices.AppendSeq(near, maps.Keys(want))[:min(30, len(want))]
	near = slices.AppendSeq(near, maps.Keys(s.have))
	addrs := probes(r, near[:min(60, len(near))])
	for n, w := range writes {
		s.hw.write(t, w)
		for _, addr := range addrs {
			if got := s.hw.at(addr); got != longest(s.have, addr) && got != longest(want, addr) {
				t.Fatalf("write %d of %d, of %s: %v goes to %v, not %v or %v", n, len(writes), w.Table.Name,
					addr, got, longest(s.have, addr), longest(want, addr))
			}
		}
	}
	for _, addr := range addrs {
		if got := s.hw.at(addr); got != longest(want, addr) {
			t.Fatalf("%v goes to %v, must go to %v", addr, got, longest(want, addr))
		}
	}
	s.have = want
}

// TestResumeGroups: rows of groups that the chip's nodes do not name are free. Of two that say the
// same, one is.
func TestResumeGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	s := after(t, r, 0)
	a, b := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")
	table := NewTable(256)
	s.turn(t, r, table, map[netip.Prefix]Hops{a: hops(t, 1), b: hops(t, 2)})
	s.hw.tables["hop_group"][9] = hops(t, 1).encode() // an old row, that no node names
	for group := range 3 {
		if row := s.hw.tables["hop_group"][group]; row != nil {
			s.hw.tables["hop_group"][group] = hops(t, 1).encode() // both say the same
		}
	}
	s.have[b] = hops(t, 1)
	table, err := Resume(256, s.hw.read)
	if err != nil {
		t.Fatal(err)
	}
	writes, err := table.Apply(routesOf(s.have))
	if err != nil {
		t.Fatal(err)
	}
	if last := writes[len(writes)-1]; len(writes) != 10 || last.Table != regs.InnerTablePrefixRoot || last.Index != 0 {
		t.Errorf("%d writes, where IPv4's prefix alone takes another row of groups", len(writes))
	}
	s.follow(t, r, writes, s.have)
	s.turn(t, r, table, map[netip.Prefix]Hops{netip.MustParsePrefix("10.1.0.0/16"): hops(t, 1)})
	held := 0
	for _, h := range table.groups.hops {
		if h != (Hops{}) {
			held++
		}
	}
	if held != 1 || table.groups.uses[table.groups.row[hops(t, 1)]] != 3 {
		t.Errorf("%d rows for the one set of next hops, used %v times", held, table.groups.uses)
	}
}

// TestNodeRows: what is read back of a node is what was written, with an end 2^64 - 1 too.
func TestNodeRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		n := node{count: r.IntN(maxEnds + 1)}
		for place := range n.count + 1 {
			n.child[place], n.group[place] = uint16(100+place), uint8(r.IntN(2))
			if place < n.count {
				n.ends[place] = uint64(place+1) << 32
			}
		}
		if n.count > 0 && r.IntN(2) == 0 {
			n.ends[n.count-1] = ^uint64(0)
		}
		writes := n.encode(0, 5)
		var back node
		back.decode(writes[0].Row, writes[1].Row)
		if back.count != n.count || !slices.Equal(back.ends[:n.count], n.ends[:n.count]) ||
			!slices.Equal(back.child[:n.count+1], n.child[:n.count+1]) ||
			!slices.Equal(back.group[:n.count+1], n.group[:n.count+1]) {
			t.Fatalf("%v comes back as %v", n, back)
		}
	}
}

// TestResumeOther: with other routes the chip goes from the old ones to the new ones at once.
func TestResumeOther(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 6))
		s := after(t, r, 200)
		want := map[netip.Prefix]Hops{}
		for prefix, h := range s.have {
			switch r.IntN(4) {
			case 0:
			case 1:
				want[prefix] = hops(t, uint8(100+r.IntN(60)))
			default:
				want[prefix] = h
			}
		}
		for range 20 * seed {
			want[nested(r)] = Connected()
		}
		if seed == 11 {
			clear(want)
		}
		table, err := Resume(256, s.hw.read)
		if err != nil {
			t.Fatal(err)
		}
		writes, err := table.Apply(routesOf(want))
		if err != nil {
			t.Fatal(err)
		}
		s.follow(t, r, writes, want)
		check(t, table.tree)
		s.turn(t, r, table, map[netip.Prefix]Hops{netip.MustParsePrefix("2001:db8::/48"): hops(t, 201, 202)})
	}
}

// TestResumeFull: if the new nodes do not fit beside the old ones, the table says so and stays as it
// is; once the roots are cleared they fit.
func TestResumeFull(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	s := restart{newChip(), map[netip.Prefix]Hops{}}
	old := map[netip.Prefix]Hops{}
	for _, prefix := range scattered(1000, 20, 64, true) {
		old[prefix] = hops(t, 249)
	}
	s.turn(t, r, NewTable(256), old)
	table, err := Resume(256, s.hw.read)
	if err != nil {
		t.Fatal(err)
	}
	want := map[netip.Prefix]Hops{}
	for _, prefix := range scattered(1000, 8, 32, false) {
		want[prefix] = hops(t, 250)
	}
	before := table.tree.clone()
	var full *FullError
	if _, err := table.Apply(routesOf(want)); !errors.As(err, &full) {
		t.Fatalf("all other routes: %v", err)
	}
	same(t, table.tree, before)
	for _, w := range table.Clear() {
		s.hw.write(t, w)
	}
	s.have = map[netip.Prefix]Hops{}
	s.turn(t, r, table, want)
}

// TestResumeGarbage: rows that make no tree are taken out of look-ups first. The other version's
// packets do not notice.
func TestResumeGarbage(t *testing.T) {
	field := func(lsb, width int) regs.Field { return regs.Field{LSB: lsb, Width: width} }
	for name, spoil := range map[string]func(node, below []uint32){
		"ends fall":           func(node, _ []uint32) { field(0, 64).Put(node, ^uint64(0)-1) },
		"an end is not in it": func(node, _ []uint32) { field(0, 64).Put(node, 0) },
		"node not valid":      func(node, _ []uint32) { field(1016, 1).Put(node, 0) },
		"children not valid":  func(_, below []uint32) { field(240, 1).Put(below, 0) },
		"child shared":        func(_, below []uint32) { field(0, 12).Put(below, field(16, 12).Get(below)) },
		"child out of range":  func(_, below []uint32) { field(0, 12).Put(below, 4095) },
		"no ends left": func(node, below []uint32) {
			for n := range 14 {
				field(64*n, 64).Put(node, ^uint64(0))
				field(896+8*n+8, 8).Put(node, field(896, 8).Get(node))
				field(16*n+16, 12).Put(below, field(0, 12).Get(below))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(4, 4))
			s := after(t, r, 600)
			row := int(regs.PrefixRootRow.Node.Get(s.hw.tables["prefix_root"][0]))
			for level := range 3 { // to a node of many
				below := s.hw.tables["prefix_child"][level<<12|row]
				row = int(field(0, 12).Get(below))
			}
			index := 3<<12 | row
			spoil(s.hw.tables["prefix"][index], s.hw.tables["prefix_child"][index])
			table, err := Resume(256, s.hw.read)
			if err != nil {
				t.Fatal(err)
			}
			writes, err := table.Apply(routesOf(s.have))
			if err != nil {
				t.Fatal(err)
			}
			if len(writes) < 3 || writes[0].Table != regs.InnerTablePrefixRoot || writes[0].Index != 0 ||
				regs.PrefixRootRow.Valid.Get(writes[0].Row) != 0 {
				t.Fatalf("%d writes do not begin with the root of IPv4", len(writes))
			}
			s.hw.write(t, writes[0])
			for _, w := range writes[1:] {
				if w.Table == regs.InnerTablePrefixRoot && w.Index != 0 {
					t.Error("the root of IPv6 is written")
				}
			}
			want := s.have
			s.have = maps.Clone(want)
			maps.DeleteFunc(s.have, func(prefix netip.Prefix, _ Hops) bool { return prefix.Addr().Is4() })
			s.follow(t, r, writes[1:], want)
			check(t, table.tree)
		})
	}
}

// TestResumeUnreadable: an error of the chip is the caller's to see, wherever it comes.
func TestResumeUnreadable(t *testing.T) {
	s := after(t, rand.New(rand.NewPCG(3, 3)), 300)
	reads := 0
	count := func(table regs.Table, index int) ([]uint32, error) { reads++; return s.hw.read(table, index) }
	if _, err := Resume(256, count); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the link is down")
	for good := range reads {
		left := good
		_, err := Resume(256, func(table regs.Table, index int) ([]uint32, error) {
			if left--; left < 0 {
				return nil, broken
			}
			return s.hw.read(table, index)
		})
		if !errors.Is(err, broken) {
			t.Fatalf("after %d reads: %v", good, err)
		}
	}
}
