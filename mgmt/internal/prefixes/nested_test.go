// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

// led is what a chip finds: nothing for a prefix that is cut out.
func led(row uint16) uint16 {
	if row == Cut {
		return 0
	}
	return row
}

// TestNestedPolicies: prefixes of policies hold each other, and some are cut out. After each write
// a packet finds the longest prefix of before or of after the change. A new daemon writes nothing
// for the same prefixes, and what differs for others.
func TestNestedPolicies(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 28))
		hw, all, have := newChip(), NewTable(256), table{}
		for step := range 120 {
			addrs := near(r, have)
			var changes []Change
			for range 1 + r.IntN(4) {
				change := Change{nested(r), []uint16{Cut, 1, 2, 3, 4, 0}[r.IntN(6)]}
				if r.IntN(3) == 0 && len(have) > 0 {
					change.Prefix = slices.SortedFunc(maps.Keys(have), func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr())<<8 + a.Bits() - b.Bits() })[r.IntN(len(have))]
				}
				changes = append(changes, change)
			}
			want := maps.Clone(have)
			want.apply(changes)
			writes, err := all.ApplyPolicies(0, changes)
			if err != nil {
				t.Fatal(err)
			}
			for n, w := range writes {
				hw.write(t, w)
				for _, addr := range addrs {
					if got := hw.policy(addr); got != led(have.longest(addr)) && got != led(want.longest(addr)) {
						t.Fatalf("seed %d step %d write %d: %v finds %d, not %d or %d", seed, step, n, addr, got, have.longest(addr), want.longest(addr))
					}
				}
			}
			have = want
			for _, addr := range append(addrs, near(r, have)...) {
				if got := hw.policy(addr); got != led(have.longest(addr)) {
					t.Fatalf("seed %d step %d: %v finds %d, must find %d", seed, step, addr, got, have.longest(addr))
				}
			}
			check(t, all.tree)
			if step%20 == 19 {
				all = resumeNested(t, r, hw, have)
			}
		}
	}
}

// resumeNested is the table of a new daemon, some of whose prefixes may be others.
func resumeNested(t *testing.T, r *rand.Rand, hw *chip, have table) *Table {
	t.Helper()
	for _, differ := range []bool{false, true} {
		all, err := ResumeNested(256, hw.read)
		if err != nil {
			t.Fatal(err)
		}
		if differ {
			have.apply([]Change{{nested(r), 9}, {nested(r), Cut}})
		}
		var changes []Change
		for p, row := range have {
			changes = append(changes, Change{p, row})
		}
		writes, err := all.ApplyPolicies(0, changes)
		if err != nil || !differ && len(writes) > 0 {
			t.Fatalf("prefixes that differ %t take %d writes: %v", differ, len(writes), err)
		}
		for _, w := range writes {
			hw.write(t, w)
		}
		check(t, all.tree)
		if differ {
			return all
		}
	}
	return nil
}
