// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"slices"

	"sallyport/mgmt/internal/regs"
)

// A tree has five levels, whatever it holds. In a small one the nodes above have no ends, and lead
// on by their first child.
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

// setEnds replaces the ends from first to before last.
func (n *node) setEnds(first, last int, with ...uint64) {
	n.count = len(slices.Replace(n.ends[:n.count], first, last, with...))
}

// rowsOf are the rows of each level.
func rowsOf(leaves int) [levels]int { return [levels]int{8, 32, 64, leaves / 8, leaves} }

// encode makes the rows of a node. Places that are not in use repeat the last one, so that the key
// 2^64 - 1, which all unused ends seem to be in front of, finds its own place too.
func (n *node) encode(level int) (ends, below []uint32) {
	p, c := regs.PrefixRow, regs.PrefixChildRow
	ends, below = make([]uint32, words(p.Bits)), make([]uint32, words(c.Bits))
	for place := range children {
		from := min(place, n.count)
		if place < maxEnds {
			end := ^uint64(0)
			if place < n.count {
				end = n.ends[place]
			}
			regs.Field{LSB: p.End0.LSB + 64*place, Width: 64}.Put(ends, end)
		}
		regs.Field{LSB: p.Group0.LSB + 8*place, Width: 8}.Put(ends, uint64(n.group[from]))
		childField(place).Put(below, uint64(n.child[from]))
	}
	p.Valid.Put(ends, 1)
	c.Valid.Put(below, 1)
	if level == leaf {
		below = nil
	}
	return ends, below
}

// childField is that of a place in a row of `prefix_child`.
func childField(place int) regs.Field {
	return regs.Field{LSB: regs.PrefixChildRow.Child0.LSB + 16*place, Width: regs.PrefixChildRow.Child0.Width}
}

func words(bits int) int { return (bits + 31) / 32 }
