// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"slices"

	"sallyport/mgmt/internal/regs"
)

// The largest trees have five levels. A smaller one starts at the level of its root, and takes no
// rows above.
const (
	levels   = 5
	leaf     = levels - 1
	maxEnds  = 14
	indexOf  = 12 // a table index is level << indexOf | row
	children = maxEnds + 1
)

// node is what a row of `prefix` and that of `prefix_child` say. The arrays have one place more
// than the rows, for a node that has just become too full.
type node struct {
	state state
	count int // ends in use
	ends  [maxEnds + 1]uint64
	child [children + 1]uint16
	group [children]uint8
}

// state says whether a row may be written.
type state uint8

const (
	free  state = iota
	fresh       // made by the change that is under way: no look-up can reach it yet
	live        // a look-up may read it
)

// place is the number of ends that are at most the key: the place whose addresses hold it.
func (n *node) place(key uint64) int {
	place := 0
	for place < n.count && n.ends[place] <= key {
		place++
	}
	return place
}

// has says whether the end in front of a place is this one.
func (n *node) has(place int, end uint64) bool { return place > 0 && n.ends[place-1] == end }

// bounds are the addresses of a place of a node that has those from first to last.
func (n *node) bounds(place int, first, last uint64) (from, to uint64) {
	from, to = first, last
	if place > 0 {
		from = n.ends[place-1]
	}
	if place < n.count {
		to = n.ends[place] - 1
	}
	return from, to
}

// setEnds replaces the ends from first to before last.
func (n *node) setEnds(first, last int, with ...uint64) {
	n.count = len(slices.Replace(n.ends[:n.count], first, last, with...))
}

// rowsOf are the rows of each level.
func rowsOf(leaves int) [levels]int { return [levels]int{8, 32, 64, leaves / 8, leaves} }

// encode makes the rows of a node of a tree of a kind; a leaf of routes has no children. Places
// that are not in use repeat the last one, so that the key 2^64 - 1, for which unused ends count,
// finds what it should.
func (n *node) encode(kind Kind, level int, row uint16) Writes {
	p, c := regs.PrefixRow, regs.PrefixChildRow
	ends, below := make([]uint32, words(p.Bits)), make([]uint32, words(c.Bits))
	for place := range children {
		from := min(place, n.count)
		groupField(place).Put(ends, uint64(n.group[from]))
		childField(place).Put(below, uint64(n.child[from]))
		switch {
		case place < n.count:
			endField(place).Put(ends, n.ends[place])
		case place < maxEnds:
			endField(place).Put(ends, unused)
		}
	}
	p.Valid.Put(ends, 1)
	c.Valid.Put(below, 1)
	index := level<<indexOf | int(row)
	writes := Writes{{regs.InnerTablePrefix, index, ends}, {regs.InnerTablePrefixChild, index, below}}
	if !kind.hasChildren(level) {
		return writes[:1]
	}
	return writes
}

// hasChildren says whether nodes of a level lead on.
func (k Kind) hasChildren(level int) bool { return level < leaf || k.of() == Policies }

// decode is the reverse of encode. Of two ends 2^64 - 1 the second is none, and so is the first if
// the places on both sides of it say the same.
func (n *node) decode(ends, below []uint32) {
	*n = node{}
	for place := range children {
		n.group[place] = uint8(groupField(place).Get(ends))
		n.child[place] = uint16(childField(place).Get(below))
		if place == maxEnds {
			break
		}
		n.ends[place] = endField(place).Get(ends)
	}
	for place := maxEnds; place > 0 && n.count == 0; place-- {
		if n.ends[place-1] != unused || n.group[place] != n.group[place-1] || n.child[place] != n.child[place-1] {
			n.count = place
		}
	}
}

// rises says whether the ends are in order, and cut the addresses from first to last.
func (n *node) rises(first, last uint64) bool {
	for _, end := range n.ends[:n.count] {
		if end <= first || end > last {
			return false
		}
		first = end
	}
	return true
}

// unused is what an end says that is none.
const unused = ^uint64(0)

// endField, groupField and childField are the fields of a place.
func endField(place int) regs.Field {
	return regs.Field{LSB: regs.PrefixRow.End0.LSB + 64*place, Width: regs.PrefixRow.End0.Width}
}

func groupField(place int) regs.Field {
	return regs.Field{LSB: regs.PrefixRow.Group0.LSB + 8*place, Width: regs.PrefixRow.Group0.Width}
}

func childField(place int) regs.Field {
	return regs.Field{LSB: regs.PrefixChildRow.Child0.LSB + 16*place, Width: regs.PrefixChildRow.Child0.Width}
}

func words(bits int) int { return (bits + 31) / 32 }
