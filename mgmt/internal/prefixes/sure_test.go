// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"net/netip"
	"reflect"
	"slices"
	"sort"
	"testing"
)

// sure is how many prefixes fit whatever came and went. A change makes up to 8 nodes a level before
// the old ones are free. A leaf has 9 ends, with one more between two leaves, and a node above 10
// children; the first two of each version may have fewer. A prefix has two ends.
func sure(leaves int) int {
	nodes := min(leaves-8, 10*(leaves/8-8+1)-18-1)
	return (10*(nodes+1) - 20 - 1) / 2
}

// thin fills a tree, and removes prefixes from each leaf that stays full enough without. So few
// prefixes cannot have more leaves.
func thin(t *testing.T, leaves int) (tree *Tree, left []netip.Prefix) {
	t.Helper()
	tree = New(leaves)
	left = apart(10 * leaves)
	left = left[:fill(t, tree, left)]
	for spare := 2; spare > 0; spare-- {
		for range 12 {
			left = slices.DeleteFunc(left, func(prefix netip.Prefix) bool {
				version, key := keyOf(prefix.Addr())
				row := tree.roots[version].row
				for level := tree.roots[version].start; level < leaf; level++ {
					n := &tree.nodes[level][row]
					row = n.child[n.place(key)]
				}
				if tree.nodes[leaf][row].count < leastOfMany+spare {
					return false
				}
				_, err := tree.Apply(Routes, []Change{{prefix, 0}})
				return err == nil
			})
		}
	}
	check(t, tree)
	return tree, left
}

// TestSure: a tree of the emptiest leaves takes prefixes up to the sure number. It refuses one some
// time after, is as before then, and takes it in place of another.
func TestSure(t *testing.T) {
	for leaves, want := range map[int]int{board: 20434, 256: 1149} {
		if got := sure(leaves); got != want {
			t.Errorf("with %d leaves %d prefixes are sure, not %d", leaves, got, want)
		}
		tree, left := thin(t, leaves)
		ends := len(tree.ends(&tree.roots[0])) + len(tree.ends(&tree.roots[1]))
		if per := float64(ends) / float64(used(tree)[leaf]); per > 10.1 {
			t.Errorf("the leaves are not as empty as can be: %.2f ends a leaf", per)
		}
		more := scattered(2*leaves, 40, 64, true)
		below := max(0, sure(leaves)-len(left))
		if n := fill(t, tree, more[:below]); n < below {
			t.Fatalf("only %d prefixes fit", len(left)+n)
		}
		check(t, tree)
		full := below + fill(t, tree, more[below:])
		t.Logf("%d leaves: thinned to %d prefixes, full with %d, rows in use %v",
			leaves, len(left), len(left)+full, used(tree))
		before := tree.clone()
		if _, err := tree.Apply(Routes, []Change{{left[0], 7}, {more[full], 1}}); err == nil {
			t.Fatal("the prefix fitted the second time")
		}
		same(t, tree, before)
		check(t, tree)
		for _, prefix := range left[:10] {
			if _, err := tree.Apply(Routes, []Change{{prefix, 0}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tree.Apply(Routes, []Change{{more[full], 1}}); err != nil {
			t.Error(err)
		}
		check(t, tree)
	}
}

// TestFullAtOnce: prefixes can leave a tree that one change has filled, without old nodes to free.
func TestFullAtOnce(t *testing.T) {
	const leaves = 128
	prefixes := scattered(10*leaves, 40, 64, true)
	all := func(number int) (tree *Tree, err error) {
		tree = New(leaves)
		var changes []Change
		for _, prefix := range prefixes[:number] {
			changes = append(changes, Change{prefix, 1})
		}
		_, err = tree.step(Routes, changes)
		return tree, err
	}
	// one more does not fit
	number := sort.Search(len(prefixes), func(n int) bool { _, err := all(n + 1); return err != nil })
	tree, err := all(number)
	if err != nil || number < sure(leaves) || number == len(prefixes) {
		t.Fatal(number, err)
	}
	for _, prefix := range prefixes[:number] {
		if _, err := tree.Apply(Routes, []Change{{prefix, 0}}); err != nil {
			t.Fatal(err)
		}
	}
}

// same fails unless both trees hold the same, in the same rows.
func same(t *testing.T, a, b *Tree) {
	t.Helper()
	if !reflect.DeepEqual(a.roots, b.roots) {
		t.Error("the roots or the prefixes differ")
	}
	for level := range levels {
		x, y := slices.Sorted(slices.Values(a.unused[level])), slices.Sorted(slices.Values(b.unused[level]))
		if !slices.Equal(x, y) {
			t.Errorf("level %d: the free rows differ", level)
		}
		for row := range a.nodes[level] {
			x, y := &a.nodes[level][row], &b.nodes[level][row]
			if x.state != y.state || x.state == live && *x != *y {
				t.Errorf("level %d row %d differs", level, row)
			}
		}
	}
}
