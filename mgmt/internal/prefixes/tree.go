// SPDX-License-Identifier: Apache-2.0

// Package prefixes lays the prefixes of routes, and those of the destinations of policies, into the
// inner chip's trees (H. Lu, S. Sahni, "A B-Tree Dynamic Router-Table Design", IEEE Transactions on
// Computers 54, 2005). It works on a copy of the rows. A change never rewrites a row that a look-up
// can reach: it makes new nodes on the ways to the two ends of its prefix, and then the root leads
// to them.
package prefixes

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
)

// Kind says what the prefixes of a tree are of.
type Kind int

const (
	// Routes lead to rows of `hop_group`. The longest prefix of an address counts.
	Routes Kind = iota
	// Policies lead to rows of `prefix_policy`. The longest prefix counts, too, but each leaf
	// inside a prefix names its row: a change of one that holds n others writes some n / 9 leaves.
	Policies
	kinds
)

// in is the kind of a tree of a network.
func (k Kind) in(network int) Kind { return Kind(network)*kinds + k }

// of is what a tree's prefixes are of, in whatever network.
func (k Kind) of() Kind { return k % kinds }

// Cut is the row of a prefix of policies that leads to none: prefixes around it do not hold it.
const Cut = math.MaxUint16

// Change gives a prefix a row of `hop_group`, or of `prefix_policy`. Row 0 takes the prefix out.
type Change struct {
	Prefix netip.Prefix
	Row    uint16
}

// Write is one row of a table of the inner chip.
type Write struct {
	Table regs.Table
	Index int
	Row   []uint32
}

// Writes are rows in the order in which the chip must get them.
type Writes []Write

// FullError says that the rows of a table do not suffice.
type FullError struct{ Err error }

func (e *FullError) Error() string { return e.Err.Error() }

func (e *FullError) Unwrap() error { return e.Err }

// Tree is the copy of a chip's trees, of routes and of policies of IPv4 and of IPv6 in each
// network. They share the rows.
type Tree struct {
	nodes  [levels][]node
	unused [levels][]uint16 // free rows
	taken  [levels][]uint16 // rows that the change under way has taken from them
	left   [levels][]uint16 // rows that its roots no longer lead to
	roots  [Roots]root
}

// top is the node where a tree starts, if there is a tree.
type top struct {
	start int // its level
	row   uint16
	valid bool
}

// root is where the tree of a kind and an IP version starts, and what it holds.
type root struct {
	top
	found   bool // an earlier daemon made the nodes, for prefixes of its own
	garbage bool // the chip's root is valid, and leads to no tree
	leads   leads
}

// of are the trees of a kind, with the rows of `prefix_root`.
func (t *Tree) of(kind Kind) iter.Seq2[int, *root] {
	return func(yield func(int, *root) bool) {
		for n := int(kind) * versions; n < int(kind+1)*versions; n++ {
			if !yield(n, &t.roots[n]) {
				return
			}
		}
	}
}

// kindOf is the kind of the tree of a row of `prefix_root`, in its network.
func kindOf(n int) Kind { return Kind(n / versions) }

// New is the empty tree of a chip of as many leaves, 2^CAPABILITY_PREFIX_BITS, whose roots are not
// valid.
func New(leaves int) *Tree {
	t := &Tree{}
	for level, rows := range rowsOf(leaves) {
		t.nodes[level] = make([]node, rows)
		for row := rows; row > 0; row-- {
			t.unused[level] = append(t.unused[level], uint16(row-1))
		}
	}
	for n := range t.roots {
		t.roots[n].leads.to = map[span]uint16{}
	}
	return t
}

// write is the row of the root.
func (r *root) write(n int) Write {
	f, row := regs.PrefixRootRow, make([]uint32, words(regs.PrefixRootRow.Bits))
	if r.valid {
		f.Start.Put(row, uint64(r.start))
		f.Node.Put(row, uint64(r.row))
		f.Valid.Put(row, 1)
	}
	return Write{regs.InnerTablePrefixRoot, n, row}
}

// row is where a prefix leads; 0 if the tree does not have it.
func (t *Tree) row(kind Kind, prefix netip.Prefix) uint16 {
	version, s, err := spanOf(prefix)
	if err != nil {
		return 0
	}
	return t.roots[int(kind)*versions+version].leads.to[s]
}

// Lookup is the row that the chip finds for an address; 0 if no prefix holds it.
func (t *Tree) Lookup(kind Kind, addr netip.Addr) (found uint16) {
	version, key := keyOf(addr)
	r := &t.roots[int(kind)*versions+version]
	if !r.valid {
		return 0
	}
	row := r.row
	for level := r.start; level < levels; level++ {
		n := &t.nodes[level][row]
		place := n.place(key)
		if n.group[place] != 0 {
			found = uint16(n.group[place])
		}
		row = n.child[place]
	}
	if kind.of() == Policies {
		found = row
	}
	return found
}

// clone copies all but the lists of a change under way.
func (t *Tree) clone() *Tree {
	c := &Tree{roots: t.roots}
	for level := range levels {
		c.nodes[level], c.unused[level] = slices.Clone(t.nodes[level]), slices.Clone(t.unused[level])
	}
	for n := range c.roots {
		c.roots[n].leads.to = maps.Clone(t.roots[n].leads.to)
	}
	return c
}

func (t *Tree) full(level int) error {
	return &FullError{fmt.Errorf("the chip's trees of prefixes have %d rows on level %d, and changes need those that are left: remove prefixes",
		len(t.nodes[level]), level)}
}
