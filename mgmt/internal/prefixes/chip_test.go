// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
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
		first := int(regs.PrefixRootRow.Start.Get(root)<<12 | regs.PrefixRootRow.Node.Get(root))
		next := []int{first}
		c.reach[first] = true
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

// lookup is the group of an address's route.
func (c *chip) lookup(addr netip.Addr) uint64 {
	group, _ := c.find(0, addr)
	return group
}

// find walks a tree down to level 4: from the root of IPv4, or the one behind that.
func (c *chip) find(root int, addr netip.Addr) (group, leads uint64) {
	version, key := root, uint64(0)
	bytes := addr.AsSlice()
	if addr.Is6() {
		version++
	}
	for n := range 8 {
		key <<= 8
		if n < len(bytes) {
			key |= uint64(bytes[n])
		}
	}
	start, _ := c.read(regs.InnerTablePrefixRoot, version)
	if regs.PrefixRootRow.Valid.Get(start) == 0 {
		return 0, 0
	}
	row := regs.PrefixRootRow.Node.Get(start)
	for level := int(regs.PrefixRootRow.Start.Get(start)); level < 5; level++ {
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
		row = regs.Field{LSB: 16 * place, Width: 14}.Get(below)
	}
	return group, row
}

// table is what the tree must say: the longest match over all prefixes.
type table map[netip.Prefix]uint16

func (w table) longest(addr netip.Addr) uint16 { return longest(w, addr) }

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
		if delete(w, c.Prefix); c.Row != 0 {
			w[c.Prefix] = c.Row
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
