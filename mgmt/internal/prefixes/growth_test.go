// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// TestTreeGrowsAndShrinks: a tree starts at the level that its prefixes need, and takes no row
// above that. After each write a look-up finds the route of before or of after.
func TestTreeGrowsAndShrinks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 62))
	all, hw, have := NewTable(256), newChip(), map[netip.Prefix]Hops{}
	const network, root = 5, 4 * 5
	prefixes := apart(700)
	r.Shuffle(len(prefixes), func(i, j int) { prefixes[i], prefixes[j] = prefixes[j], prefixes[i] })
	most := map[int]int{} // ends of the fullest tree that starts at a level
	step := func(p netip.Prefix, to Hops) {
		writes, err := all.ApplyIn(network, []Route{{p, to}})
		if err != nil {
			t.Fatal(err)
		}
		addrs := probes(r, []netip.Prefix{p, prefixes[r.IntN(len(prefixes))]})
		before := make([]Hops, len(addrs))
		for i, addr := range addrs {
			before[i] = longest(have, addr)
		}
		if have[p] = to; to == (Hops{}) {
			delete(have, p)
		}
		for n, w := range writes {
			hw.write(t, w)
			for i, addr := range addrs {
				var got Hops
				if group, _ := hw.find(root, addr); group != 0 {
					row := hw.tables["hop_group"][int(group)]
					got = decode(row)
				}
				if now := longest(have, addr); got != now && (got != before[i] || n == len(writes)-1) {
					t.Fatalf("write %d of %d: %v goes to %v, not %v", n, len(writes), addr, got, now)
				}
			}
		}
		for _, tree := range all.tree.of(Routes.in(network)) {
			if tree.valid {
				most[tree.start] = max(most[tree.start], len(all.tree.ends(tree)))
			}
		}
	}
	check(t, all.tree)
	for n, p := range prefixes {
		if step(p, hops(t, uint8(n%9))); n%50 == 0 {
			check(t, all.tree)
		}
	}
	if most[4] != maxEnds || most[3] < 100 || most[2] < 600 || len(most) != 3 {
		t.Errorf("most ends of the trees by the level of their roots: %v", most)
	}
	for n, p := range prefixes {
		if step(p, Hops{}); n%50 == 0 {
			check(t, all.tree)
		}
	}
	if used(all.tree) != [levels]int{} {
		t.Errorf("rows in use behind the last prefix: %v", used(all.tree))
	}
}

// TestTreesShareRows: trees of one node take rows of the last level alone, until the others are
// those that a change needs. The next tree does not fit, and leaves nothing. All others still
// change.
func TestTreesShareRows(t *testing.T) {
	const leaves = 128
	all, hw := NewTable(leaves), newChip()
	nets := [2]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	apply := func(tree int, to Hops) error {
		writes, err := all.ApplyIn(tree/2, []Route{{nets[tree%2], to}})
		for _, w := range writes {
			hw.write(t, w)
		}
		return err
	}
	for tree := range leaves - spare {
		if err := apply(tree, hops(t, uint8(tree))); err != nil {
			t.Fatal(tree, err)
		}
	}
	before := all.tree.clone()
	var full *FullError
	if err := apply(leaves-spare, hops(t, 9)); !errors.As(err, &full) {
		t.Fatalf("a tree too many: %v", err)
	}
	same(t, all.tree, before)
	if used(all.tree) != [levels]int{leaf: leaves - spare} {
		t.Errorf("rows in use: %v", used(all.tree))
	}
	for tree := range leaves - spare {
		if err := apply(tree, hops(t, uint8(tree), 200)); err != nil {
			t.Fatal(tree, err)
		}
		group, _ := hw.find(4*(tree/2), nets[tree%2].Addr())
		if got := decode(hw.tables["hop_group"][int(group)]); got != hops(t, uint8(tree), 200) {
			t.Errorf("tree %d leads to %v", tree, got)
		}
	}
}

// TestTallTrees: of a board's trees, 56 have more than the 79 prefixes that always fit two levels;
// eight rows of the level above stay free.
func TestTallTrees(t *testing.T) {
	all, prefixes := NewTable(board), apart(200)
	apply := func(tree, number int) error {
		var routes []Route // of one IP version
		for n := range number {
			routes = append(routes, Route{prefixes[2*n+tree%2], hops(t, uint8(n%5))})
		}
		_, err := all.ApplyIn(tree/2, routes)
		return err
	}
	for tree := range 56 {
		if err := apply(tree, 100); err != nil {
			t.Fatal(tree, err)
		}
	}
	if err := apply(56, 100); err == nil || err.Error() != "the chip's trees of prefixes have 64 rows on level 2, and changes need those that are left: remove prefixes" {
		t.Error(err)
	}
	for tree := 57; tree < 2*networks; tree++ {
		if err := apply(tree, 79); err != nil {
			t.Fatal(tree, err)
		}
	}
	if got := used(all.tree); got[1] != 0 || got[2] != 56 || got[3] < 2*networks {
		t.Errorf("rows in use: %v", got)
	}
	check(t, all.tree)
}
