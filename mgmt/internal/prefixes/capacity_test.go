// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// A board's chip has 4096 leaves, and must hold 16,384 prefixes.
const (
	board  = 4096
	target = 16384
)

// sure is how many prefixes fit whatever came and went. A change makes up to 8 nodes a level before
// the old ones are free. A leaf has 9 ends, with one more between two leaves, and a node above 10
// children; of each version the first two may have fewer. A prefix has two ends.
func sure(leaves int) int {
	nodes := min(leaves-8, 10*(leaves/8-8+1)-18-1)
	return (10*(nodes+1) - 20 - 1) / 2
}

// apart are prefixes of which each has two ends of its own.
func apart(number int) (out []netip.Prefix) {
	for n := range number {
		out = append(out, netip.PrefixFrom(address(n%2 == 0, uint64(2*n+1)<<40), 24))
	}
	return out
}

// scattered are as many different random prefixes of the lengths from least to most.
func scattered(number, least, most int, six bool) []netip.Prefix {
	r := rand.New(rand.NewPCG(uint64(most), 7))
	known := table{}
	var out []netip.Prefix
	for len(out) < number {
		prefix, err := address(six, r.Uint64()).Prefix(least + r.IntN(most-least+1))
		if err == nil && known[prefix] == 0 {
			known[prefix] = 1
			out = append(out, prefix)
		}
	}
	return out
}

// internet is like a table of BGP: most prefixes are /24 in runs, inside shorter ones.
func internet(number int) (out []netip.Prefix) {
	r := rand.New(rand.NewPCG(24, 16))
	known := table{}
	for len(out) < number {
		block := r.Uint64()
		for _, length := range []int{8 + r.IntN(9), 17 + r.IntN(7), 24, 24, 24, 24} {
			prefix, err := address(false, block).Prefix(length)
			if err == nil && known[prefix] == 0 && len(out) < number {
				known[prefix] = 1
				out = append(out, prefix)
			}
			if length == 24 {
				block += 1 << 40
			}
		}
	}
	return out
}

// fill applies prefixes one by one until one does not fit, and gives the number of those that did.
func fill(t *testing.T, tree *Tree, prefixes []netip.Prefix) int {
	t.Helper()
	for n, prefix := range prefixes {
		if _, err := tree.Apply([]Change{{prefix, uint8(1 + n%255)}}); err != nil {
			var full *FullError
			if !errors.As(err, &full) {
				t.Fatal(err)
			}
			return n
		}
	}
	return len(prefixes)
}

// used is how many rows of each level are not free.
func used(tree *Tree) (out [levels]int) {
	for level := range levels {
		out[level] = len(tree.nodes[level]) - len(tree.unused[level])
	}
	return out
}

// TestOrders: 16,384 prefixes fit in any order, and all of them can change at once then.
func TestOrders(t *testing.T) {
	up := apart(target)
	down := slices.Clone(up)
	slices.Reverse(down)
	random := slices.Clone(up)
	rand.New(rand.NewPCG(1, 1)).Shuffle(target, func(i, j int) { random[i], random[j] = random[j], random[i] })
	for name, prefixes := range map[string][]netip.Prefix{
		"ascending": up, "descending": down, "shuffled": random,
		"any IPv4": scattered(target, 8, 32, false), "any IPv6": scattered(target, 20, 64, true),
		"hosts": scattered(target, 32, 32, false), "internet": internet(target),
	} {
		t.Run(name, func(t *testing.T) {
			tree, want := New(board), table{}
			if n := fill(t, tree, prefixes); n < target {
				t.Fatalf("only %d prefixes fit", n)
			}
			check(t, tree)
			t.Log("rows in use", used(tree))
			hw := load(t, tree)
			var changes []Change
			for n, prefix := range prefixes {
				changes = append(changes, Change{prefix, uint8(1 + n%7)})
			}
			want.apply(changes)
			writes, err := tree.Apply(changes)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range writes {
				hw.write(t, w)
			}
			check(t, tree)
			for _, addr := range probes(rand.New(rand.NewPCG(3, 3)), prefixes[:500]) {
				if got, now := uint8(hw.lookup(addr)), want.longest(addr); got != now {
					t.Fatalf("%v goes to %d, must be %d", addr, got, now)
				}
			}
		})
	}
}

// load is a chip that has a tree's rows.
func load(t *testing.T, tree *Tree) *chip {
	t.Helper()
	hw := newChip()
	for level := range levels {
		for row := range tree.nodes[level] {
			if n := &tree.nodes[level][row]; n.state == live {
				for _, w := range n.encode(level, uint16(row)) {
					hw.write(t, w)
				}
			}
		}
	}
	for version := range tree.roots {
		hw.write(t, tree.roots[version].write(version))
	}
	return hw
}

// thin fills a tree, and removes prefixes from each leaf that stays full enough without: what is
// left has as many leaves as so few prefixes can have.
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
				for level := range leaf {
					n := &tree.nodes[level][row]
					row = n.child[n.place(key)]
				}
				if tree.nodes[leaf][row].count < leastOfMany+spare {
					return false
				}
				_, err := tree.Apply([]Change{{prefix, 0}})
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
		if _, err := tree.Apply([]Change{{left[0], 7}, {more[full], 1}}); err == nil {
			t.Fatal("the prefix fitted the second time")
		}
		same(t, tree, before)
		check(t, tree)
		for _, prefix := range left[:10] {
			if _, err := tree.Apply([]Change{{prefix, 0}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tree.Apply([]Change{{more[full], 1}}); err != nil {
			t.Error(err)
		}
		check(t, tree)
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

// TestChurn: prefixes come and go at the target number for long, and always fit.
func TestChurn(t *testing.T) {
	all := append(scattered(target, 12, 32, false), apart(target)...)
	tree := New(board)
	r := rand.New(rand.NewPCG(9, 9))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if n := fill(t, tree, all[:target]); n < target {
		t.Fatalf("only %d prefixes fit", n)
	}
	most := 0
	for step := range 40000 {
		out, in := r.IntN(target), target+r.IntN(len(all)-target)
		for _, change := range []Change{{all[out], 0}, {all[in], 5}} {
			writes, err := tree.Apply([]Change{change})
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			most = max(most, len(writes))
			var nodes [levels]int
			for _, w := range writes[:len(writes)-1] {
				if w.Table == regs.InnerTablePrefix {
					nodes[w.Index>>indexOf]++
				}
			}
			if slices.Max(nodes[:]) > 8 {
				t.Fatalf("step %d: a change wrote %v nodes of the levels", step, nodes)
			}
		}
		all[out], all[in] = all[in], all[out]
	}
	check(t, tree)
	t.Log("rows in use", used(tree), "most rows that a change wrote", most)
}

// BenchmarkChange takes a prefix out and puts it back, in trees of different numbers of them.
func BenchmarkChange(b *testing.B) {
	for number := 1; number <= target; number *= 4 {
		b.Run(fmt.Sprint(number), func(b *testing.B) {
			tree, prefixes := New(board), internet(number)
			for n, prefix := range prefixes {
				if _, err := tree.Apply([]Change{{prefix, uint8(1 + n%255)}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			rows, n := 0, 0
			for b.Loop() {
				prefix := prefixes[n/2%number]
				writes, err := tree.Apply([]Change{{prefix, uint8(n % 2)}})
				if err != nil {
					b.Fatal(err)
				}
				rows, n = rows+len(writes), n+1
			}
			b.ReportMetric(float64(rows)/float64(n), "rows/op")
		})
	}
}
