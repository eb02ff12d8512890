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

// side makes prefixes that do not hold each other, of both versions: neighbours share ends.
func side(r *rand.Rand, of table) netip.Prefix {
	for {
		p := nested(r)
		holds := func(q netip.Prefix) bool { return q != p && q.Overlaps(p) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(of)), holds) {
			return p
		}
	}
}

// near are addresses at the ends of some prefixes.
func near(r *rand.Rand, of table) []netip.Addr {
	some := slices.Collect(maps.Keys(of))
	return probes(r, some[:min(10, len(some))])
}

// policy is the row of `prefix_policy` that a chip finds for a destination.
func (c *chip) policy(addr netip.Addr) uint16 {
	_, row := c.find(2, addr)
	return uint16(row)
}

// TestPolicies: trees of policies and of routes change in turn, on rows that they share. After each
// write a packet finds its policy of before or of after, and its route likewise. A new daemon finds
// the same prefixes, and writes nothing for them.
func TestPolicies(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 77))
		hw, all, have := newChip(), NewTable(256), table{}
		routes := map[netip.Prefix]Hops{}
		for step := range 100 {
			addrs := near(r, have)
			if step%5 == 4 {
				route := Route{nested(r), hops(t, uint8(r.IntN(40)))}
				writes, err := all.Apply([]Route{route})
				if err != nil {
					t.Fatal(err)
				}
				routes[route.Prefix] = route.Hops
				for _, w := range writes {
					hw.write(t, w)
				}
			}
			var changes []Change
			want := maps.Clone(have)
			for range 1 + r.IntN(3) {
				change := Change{side(r, want), uint16(1 + r.IntN(1<<14-1))}
				if r.IntN(3) == 0 && len(want) > 0 {
					change = Change{slices.MinFunc(slices.Collect(maps.Keys(want)), func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) }), uint16(r.IntN(2) * 99)}
				}
				changes = append(changes, change)
				want.apply(changes)
			}
			writes, err := all.ApplyPolicies(0, changes)
			if err != nil {
				t.Fatal(err)
			}
			for n, w := range writes {
				hw.write(t, w)
				for _, addr := range addrs {
					if got := hw.policy(addr); got != have.longest(addr) && got != want.longest(addr) {
						t.Fatalf("seed %d step %d write %d: %v finds %d, not %d or %d", seed, step, n, addr, got, have.longest(addr), want.longest(addr))
					}
				}
			}
			have = want
			for _, addr := range append(addrs, near(r, have)...) {
				if got := hw.policy(addr); got != have.longest(addr) || all.tree.Lookup(Policies, addr) != got {
					t.Fatalf("seed %d step %d: %v finds %d, must find %d", seed, step, addr, got, have.longest(addr))
				}
				if got := hw.at(addr); got != longest(routes, addr) {
					t.Fatalf("seed %d step %d: %v goes to %v, must go to %v", seed, step, addr, got, longest(routes, addr))
				}
			}
			check(t, all.tree)
			if step%25 == 24 {
				all = again(t, hw, have, routes)
			}
		}
	}
}

// again is the table of a new daemon.
func again(t *testing.T, hw *chip, have table, routes map[netip.Prefix]Hops) *Table {
	t.Helper()
	table, err := Resume(256, hw.read)
	if err != nil {
		t.Fatal(err)
	}
	known := table.Policies(0)
	for prefix, row := range have {
		if known[prefix] != int(row) || table.PolicyOf(0, prefix) != int(row) {
			t.Fatalf("%v had row %d, and now %d", prefix, row, known[prefix])
		}
	}
	if len(known) != len(have) {
		t.Fatalf("%d prefixes are found again, of %d", len(known), len(have))
	}
	if writes, err := table.Apply(routesOf(routes)); err != nil || len(writes) > 0 {
		t.Fatalf("the same routes take %d writes: %v", len(writes), err)
	}
	return table
}

// TestPolicyOfAll: a prefix of all addresses has no end, and its row changes all the same.
func TestPolicyOfAll(t *testing.T) {
	table, hw := NewTable(256), newChip()
	all := netip.MustParsePrefix("0.0.0.0/0")
	for _, row := range []uint16{7, 9, 0, 3} {
		writes, err := table.ApplyPolicies(0, []Change{{all, row}})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range writes {
			hw.write(t, w)
		}
		check(t, table.tree)
		if got := hw.policy(netip.MustParseAddr("10.1.2.3")); got != row {
			t.Errorf("finds %d, must find %d", got, row)
		}
	}
}

// TestGarbageOfPolicies: a leaf whose places are no prefixes is taken out first, and its rows are
// free.
func TestGarbageOfPolicies(t *testing.T) {
	table, hw := NewTable(256), newChip()
	p := netip.MustParsePrefix("10.0.0.0/8")
	writes, err := table.ApplyPolicies(0, []Change{{p, 5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		hw.write(t, w)
		if w.Table == regs.InnerTablePrefix && w.Index>>12 == leaf {
			regs.PrefixRow.End1.Put(hw.tables["prefix"][w.Index], 0x0b00000000000001)
		}
	}
	if table, err = Resume(256, hw.read); err != nil {
		t.Fatal(err)
	}
	if row := table.PolicyOf(0, p); row != 0 || len(table.Policies(0)) > 0 {
		t.Errorf("a broken leaf leads to %d", row)
	}
	if writes, err = table.ApplyPolicies(0, []Change{{p, 6}}); err != nil || writes[0].Table != regs.InnerTablePrefixRoot || writes[0].Index != 2 {
		t.Fatalf("%v: the first write is to %v", err, writes[0])
	}
	for _, w := range writes {
		hw.write(t, w)
	}
	check(t, table.tree)
	if got := hw.policy(p.Addr()); got != 6 {
		t.Errorf("finds %d", got)
	}
}

// TestManyPolicies: 16,384 neighbours fit, and one more change of each is a few rows. A tree that
// routes have filled says so, and stays as it is.
func TestManyPolicies(t *testing.T) {
	table := NewTable(board)
	var changes []Change
	for n := range target {
		changes = append(changes, Change{netip.PrefixFrom(address(n%2 == 0, uint64(n)<<40), 24), uint16(1 + n%(target-1))})
	}
	if _, err := table.ApplyPolicies(0, changes); err != nil {
		t.Fatal(err)
	}
	check(t, table.tree)
	most := 0
	for _, change := range changes[:1000] {
		for _, row := range []uint16{0, 77} {
			writes, err := table.ApplyPolicies(0, []Change{{change.Prefix, row}})
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, len(writes))
		}
	}
	check(t, table.tree)
	if t.Log("most rows that a change wrote", most); most > 40 {
		t.Errorf("a change wrote %d rows", most)
	}
	small := NewTable(256)
	for _, prefix := range apart(2000) {
		if _, err := small.Apply([]Route{{prefix, hops(t, 1)}}); err != nil {
			break
		}
	}
	before := small.tree.clone()
	var full *FullError
	var many []Change
	for n := range 500 {
		many = append(many, Change{netip.PrefixFrom(address(false, uint64(2*n+1)<<32), 32), 1})
	}
	if _, err := small.ApplyPolicies(0, many); !errors.As(err, &full) {
		t.Fatal(err)
	}
	same(t, small.tree, before)
	for _, w := range small.Clear() {
		if w.Index > 1 {
			t.Error("the root of policies is cleared with the routes")
		}
	}
	if _, err := small.ApplyPolicies(0, many); err != nil {
		t.Error(err)
	}
	check(t, small.tree)
}
