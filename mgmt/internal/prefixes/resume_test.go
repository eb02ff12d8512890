// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
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

// resumed is the table of a new daemon, and what it writes for the same routes.
func (s restart) resumed(t *testing.T) (*Table, Writes) {
	t.Helper()
	table, err := Resume(256, s.hw.read)
	if err != nil {
		t.Fatal(err)
	}
	writes, err := table.Apply(routesOf(s.have))
	if err != nil {
		t.Fatal(err)
	}
	return table, writes
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
	s.turn(t, r, table, map[netip.Prefix]Hops{a: hops(t, 1)})
	s.turn(t, r, table, map[netip.Prefix]Hops{b: hops(t, 2)})
	s.hw.tables["hop_group"][9] = hops(t, 1).encode() // an old row, that no node names
	for group := range 3 {
		if row := s.hw.tables["hop_group"][group]; row != nil {
			s.hw.tables["hop_group"][group] = hops(t, 1).encode() // both say the same
		}
	}
	s.have[b] = hops(t, 1)
	table, writes := s.resumed(t)
	if last := writes[len(writes)-1]; len(writes) != 2 || last.Table != regs.InnerTablePrefixRoot || last.Index != 0 {
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
