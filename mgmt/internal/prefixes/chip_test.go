// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/regs"
)

// chip holds rows as hardware does, and looks up as the RTL does: by the registers' description
// alone.
type chip struct {
	tables map[string]map[int][]uint32
	reach  map[int]bool // indices of nodes that a look-up can read; nil after a root was written
}

func newChip() *chip {
	return &chip{tables: map[string]map[int][]uint32{"prefix": {}, "prefix_child": {}, "prefix_root": {}, "hop_group": {}}}
}

func (c *chip) read(table regs.Table, index int) ([]uint32, error) {
	if row, ok := c.tables[table.Name][index]; ok {
		return row, nil
	}
	return make([]uint32, table.Words()), nil
}

// write fails the test if it is to a node that a look-up can read.
func (c *chip) write(t *testing.T, w Write) {
	t.Helper()
	switch w.Table.Name {
	case "prefix", "prefix_child":
		if c.reach == nil {
			c.walk()
		}
		if c.reach[w.Index] {
			t.Fatalf("level %d row %d is written while look-ups read it", w.Index>>12, w.Index&0xfff)
		}
	case "prefix_root":
		c.reach = nil
	}
	c.tables[w.Table.Name][w.Index] = w.Row
}

// walk finds the nodes that a look-up can read.
func (c *chip) walk() {
	c.reach = map[int]bool{}
	for _, root := range c.tables["prefix_root"] {
		if regs.PrefixRootRow.Valid.Get(root) == 0 {
			continue
		}
		row := int(regs.PrefixRootRow.Node.Get(root))
		next := []int{row}
		c.reach[row] = true
		for len(next) > 0 {
			index := next[0]
			next = next[1:]
			if index>>12 == 4 {
				continue
			}
			below, _ := c.read(regs.InnerTablePrefixChild, index)
			for place := range 15 {
				child := (index>>12+1)<<12 | int(regs.Field{LSB: 16 * place, Width: 12}.Get(below))
				if !c.reach[child] {
					c.reach[child] = true
					next = append(next, child)
				}
			}
		}
	}
}

// lookup walks the five levels.
func (c *chip) lookup(addr netip.Addr) (group uint64) {
	version, key := 0, uint64(0)
	bytes := addr.AsSlice()
	if addr.Is6() {
		version = 1
	}
	for n := range 8 {
		key <<= 8
		if n < len(bytes) {
			key |= uint64(bytes[n])
		}
	}
	root, _ := c.read(regs.InnerTablePrefixRoot, version)
	if regs.PrefixRootRow.Valid.Get(root) == 0 {
		return 0
	}
	row := regs.PrefixRootRow.Node.Get(root)
	for level := range 5 {
		node, _ := c.read(regs.InnerTablePrefix, level<<12|int(row))
		below, _ := c.read(regs.InnerTablePrefixChild, level<<12|int(row))
		place := 0
		for n := range 14 {
			if (regs.Field{LSB: 64 * n, Width: 64}).Get(node) <= key {
				place++
			}
		}
		if g := (regs.Field{LSB: 896 + 8*place, Width: 8}).Get(node); g != 0 {
			group = g
		}
		row = regs.Field{LSB: 16 * place, Width: 12}.Get(below)
	}
	return group
}

// table is what the tree must say: the longest match over all prefixes.
type table map[netip.Prefix]uint8

func (w table) longest(addr netip.Addr) uint8 { return longest(w, addr) }

// longest is what the longest prefix of those that hold an address has.
func longest[V comparable](of map[netip.Prefix]V, addr netip.Addr) (none V) {
	for bits := addr.BitLen(); bits >= 0; bits-- {
		if prefix, err := addr.Prefix(bits); err == nil && of[prefix] != none {
			return of[prefix]
		}
	}
	return none
}

func (w table) apply(changes []Change) {
	for _, c := range changes {
		if delete(w, c.Prefix); c.Group != 0 {
			w[c.Prefix] = c.Group
		}
	}
}

// address makes one of a number: of either version.
func address(six bool, key uint64) netip.Addr {
	var b [16]byte
	for n := range 8 {
		b[n] = byte(key >> (56 - 8*n))
	}
	if six {
		b[15] = byte(key)
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}

// nested makes random prefixes of both versions: some anywhere, some deep in a few places, so that
// they hold each other and share ends.
func nested(r *rand.Rand) netip.Prefix {
	six := r.IntN(2) == 0
	key := r.Uint64()
	if r.IntN(4) > 0 {
		key = key&0x0f0f000300030003 | 0x2000000000000000
	}
	most := 32
	if six {
		most = 64
	}
	prefix, err := address(six, key).Prefix(r.IntN(most + 1))
	if err != nil {
		panic(err)
	}
	return prefix
}

// probes are addresses at the ends of prefixes, on either side of them, and anywhere.
func probes(r *rand.Rand, of []netip.Prefix) (addrs []netip.Addr) {
	for _, prefix := range of {
		first := prefix.Addr()
		_, key := keyOf(first)
		last := key | ^mask(uint8(prefix.Bits()))
		addrs = append(addrs, first, address(first.Is6(), last))
		if key > 0 {
			addrs = append(addrs, address(first.Is6(), key-1))
		}
		addrs = append(addrs, address(first.Is6(), last+1))
	}
	for range 8 {
		addrs = append(addrs, address(r.IntN(2) == 0, r.Uint64()))
	}
	return addrs
}

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
				writes, err := tree.Apply(changes)
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
						got := uint8(hw.lookup(addr))
						if old, now := before.longest(addr), want.longest(addr); got != old && got != now {
							t.Fatalf("step %d, write %d of %d: %v goes to %d, not %d or %d",
								step, i, len(writes), addr, got, old, now)
						}
					}
				}
				for _, addr := range addrs {
					got, soft, now := uint8(hw.lookup(addr)), tree.Lookup(addr), want.longest(addr)
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
				changes = append(changes, Change{prefix, uint8(r.IntN(3))})
				break
			}
			continue
		}
		changes = append(changes, Change{nested(r), uint8(1 + r.IntN(255))})
	}
	return changes
}

// check holds the tree against its invariants: ends rise, nodes are full enough, each row of a tree
// is live, all others are free once, and each place has the group of its definition.
func check(t *testing.T, tree *Tree) {
	t.Helper()
	var used [levels]map[uint16]bool
	for level := range used {
		used[level] = map[uint16]bool{}
	}
	var of *groups
	var walk func(level int, row uint16, first, last uint64, siblings int)
	walk = func(level int, row uint16, first, last uint64, siblings int) {
		n := &tree.nodes[level][row]
		least := map[int]int{1: 0, 2: 7}[siblings]
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
			if want := of.at(level, from, to, first, last); n.group[place] != want {
				t.Fatalf("level %d row %d: place %d has group %d, not %d", level, row, place, n.group[place], want)
			}
			if level < leaf {
				walk(level+1, n.child[place], from, to, n.count+1)
			}
		}
	}
	for version := range tree.roots {
		if r := &tree.roots[version]; r.valid {
			of = &r.groups
			walk(0, r.row, 0, ^uint64(0), 1)
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
