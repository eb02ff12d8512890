// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// TestEveryWrite applies random batches to a chip, write by write: after each one every look-up
// gives the old answer or the new one, and after the last one the new.
func TestEveryWrite(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 28))
			tree, hw, want := New(256), newChip(), table{}
			for step := range 150 {
				changes := batch(r, want, step)
				before := maps.Clone(want)
				want.apply(changes)
				writes, err := tree.Apply(Routes, changes)
				if err != nil {
					t.Fatal(err)
				}
				var near []netip.Prefix
				for _, c := range changes {
					near = append(near, c.Prefix)
				}
				for prefix := range want {
					if near = append(near, prefix); len(near) > 12 {
						break
					}
				}
				addrs := probes(r, near)
				for i, w := range writes {
					hw.write(t, w)
					for _, addr := range addrs {
						got := uint16(hw.lookup(addr))
						if old, now := before.longest(addr), want.longest(addr); got != old && got != now {
							t.Fatalf("step %d, write %d of %d: %v goes to %d, not %d or %d",
								step, i, len(writes), addr, got, old, now)
						}
					}
				}
				for _, addr := range addrs {
					got, soft, now := uint16(hw.lookup(addr)), tree.Lookup(Routes, addr), want.longest(addr)
					if got != now || soft != now {
						t.Fatalf("step %d: %v goes to %d, by the copy to %d, must be %d", step, addr, got, soft, now)
					}
				}
				check(t, tree)
			}
		})
	}
}

// batch makes some changes: mostly new prefixes while there are few, mostly removals then.
func batch(r *rand.Rand, have table, step int) (changes []Change) {
	for range 1 + r.IntN(1+step%24) {
		if len(have) > 0 && r.IntN(600) < len(have) {
			for prefix := range have {
				changes = append(changes, Change{prefix, uint16(r.IntN(3))})
				break
			}
			continue
		}
		changes = append(changes, Change{nested(r), uint16(1 + r.IntN(255))})
	}
	return changes
}

// check holds the tree against its invariants: ends rise, nodes are full enough, each row of a tree
// is live, all others are free once, and each place has the group or the row of its definition.
func check(t *testing.T, tree *Tree) {
	t.Helper()
	var used [levels]map[uint16]bool
	for level := range used {
		used[level] = map[uint16]bool{}
	}
	var of *leads
	var kind Kind
	var walk func(level int, row uint16, first, last uint64, siblings int)
	walk = func(level int, row uint16, first, last uint64, siblings int) {
		n := &tree.nodes[level][row]
		least := map[int]int{1: 1, 2: 7}[siblings]
		if siblings == 1 && level == leaf { // a leaf alone may have none
			least = 0
		}
		if siblings > 2 {
			least = 9
		}
		if n.count < least || n.count > maxEnds {
			t.Fatalf("level %d row %d has %d ends and %d siblings", level, row, n.count, siblings)
		}
		if n.state != live || used[level][row] {
			t.Fatalf("level %d row %d: state %d, used %t", level, row, n.state, used[level][row])
		}
		used[level][row] = true
		for place := range n.count + 1 {
			from, to := first, last
			if place > 0 {
				from = n.ends[place-1]
			}
			if place < n.count {
				to = n.ends[place] - 1
			}
			if from > to || place > 0 && from <= first {
				t.Fatalf("level %d row %d: place %d is from %x to %x", level, row, place, from, to)
			}
			want := uint8(0)
			if kind.of() == Routes {
				want = of.group(from, to, first, last)
			}
			if n.group[place] != want {
				t.Fatalf("level %d row %d: place %d has group %d, not %d", level, row, place, n.group[place], want)
			}
			if kind.of() == Policies && level == leaf && n.child[place] != led(of.covering(from, to, 0)) {
				t.Fatalf("row %d: place %d leads to %d, not %d", row, place, n.child[place], led(of.covering(from, to, 0)))
			}
			if level < leaf {
				walk(level+1, n.child[place], from, to, n.count+1)
			}
		}
	}
	for number := range tree.roots {
		if r := &tree.roots[number]; r.valid {
			kind, of = kindOf(number), &r.leads
			walk(r.start, r.row, 0, ^uint64(0), 1)
		}
	}
	for level := range levels {
		if len(used[level])+len(tree.unused[level]) != len(tree.nodes[level]) {
			t.Fatalf("level %d: %d rows used, %d free, of %d", level,
				len(used[level]), len(tree.unused[level]), len(tree.nodes[level]))
		}
		for _, row := range tree.unused[level] {
			if used[level][row] || tree.nodes[level][row].state != free {
				t.Fatalf("level %d row %d is free and used, or free twice", level, row)
			}
			used[level][row] = true
		}
	}
}
