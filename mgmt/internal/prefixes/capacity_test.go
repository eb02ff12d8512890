// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// A board's chip has 4096 leaves, and must hold 16,384 prefixes.
const (
	board  = 4096
	target = 16384
)

// apart are prefixes that share no end, so that each takes two.
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
		if _, err := tree.Apply(Routes, []Change{{prefix, uint16(1 + n%255)}}); err != nil {
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
				changes = append(changes, Change{prefix, uint16(1 + n%7)})
			}
			want.apply(changes)
			writes, err := tree.Apply(Routes, changes)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range writes {
				hw.write(t, w)
			}
			check(t, tree)
			for _, addr := range probes(rand.New(rand.NewPCG(3, 3)), prefixes[:500]) {
				if got, now := uint16(hw.lookup(addr)), want.longest(addr); got != now {
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
				for _, w := range n.encode(Routes, level, uint16(row)) {
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
			writes, err := tree.Apply(Routes, []Change{change})
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
