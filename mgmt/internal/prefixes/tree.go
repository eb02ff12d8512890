// SPDX-License-Identifier: Apache-2.0

// Package prefixes lays the prefixes of routes into the inner chip's tree (H. Lu, S. Sahni, "A
// B-Tree Dynamic Router-Table Design", IEEE Transactions on Computers 54, 2005). It works on a copy
// of the rows. A change never rewrites a row that a look-up can reach: it makes new nodes on the
// ways to the two ends of its prefix, and then the root leads to them.
package prefixes

import (
	"fmt"
	"net/netip"

	"sallyport/mgmt/internal/regs"
)

// Change gives a prefix a row of `hop_group`. Group 0 takes the prefix out.
type Change struct {
	Prefix netip.Prefix
	Group  uint8
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

// Tree is the copy of a chip's two trees, IPv4's and IPv6's, which share the rows.
type Tree struct {
	nodes  [levels][]node
	unused [levels][]uint16 // free rows
	taken  [levels][]uint16 // rows that the change under way has taken from them
	left   [levels][]uint16 // rows that its roots no longer lead to
	held   [levels][]uint16 // rows that the roots on the chip lead to until it gets ours
	roots  [versions]root
}

// root is where the tree of an IP version starts, and what it holds.
type root struct {
	row    uint16
	valid  bool
	stale  bool // the chip's leads elsewhere
	groups groups
}

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
	for version := range t.roots {
		t.roots[version].groups.of = map[span]uint8{}
	}
	return t
}

// Apply makes changes, and returns the rows to write. After an error the tree is as it was. It is a
// *FullError if the rows do not suffice. To take out a prefix that is not there changes nothing.
func (t *Tree) Apply(changes []Change) (Writes, error) {
	type undo struct {
		version int
		span    span
		group   uint8
	}
	var done []undo
	before := t.roots
	var changed [versions]bool
	for _, change := range changes {
		version, s, err := spanOf(change.Prefix)
		if err == nil && t.roots[version].groups.of[s] != change.Group {
			done = append(done, undo{version, s, t.roots[version].groups.of[s]})
			changed[version] = true
			err = t.change(&t.roots[version], s, change.Group)
		}
		if err != nil {
			for i := len(done) - 1; i >= 0; i-- {
				t.roots[done[i].version].groups.set(done[i].span, done[i].group)
			}
			for version := range t.roots {
				t.roots[version].row, t.roots[version].valid = before[version].row, before[version].valid
			}
			t.rollBack()
			return nil, err
		}
	}
	var out, roots Writes
	for version := range t.roots {
		if r := &t.roots[version]; changed[version] || r.stale {
			r.stale = false
			t.finish(r)
			out = t.emit(out, r, 0, r.row, 0, ^uint64(0))
			roots = append(roots, r.write(version))
		}
	}
	t.commit()
	return append(out, roots...), nil
}

// change sets the group of one span, and makes its ends or removes them.
func (t *Tree) change(r *root, s span, group uint8) (err error) {
	if !r.valid {
		if err := t.plant(r); err != nil {
			return err
		}
	}
	if r.row, err = t.own(0, r.row); err != nil {
		return err
	}
	r.groups.set(s, group)
	for _, end := range s.ends() {
		if r.groups.needs(end) {
			r.row, err = t.put(0, r.row, end)
		} else {
			r.row, err = t.remove(0, r.row, end)
		}
		if err != nil {
			return err
		}
		if n := t.nodes[0][r.row].count; n > maxEnds {
			return t.full(0)
		}
	}
	return nil
}

// plant makes the tree of no ends: a node on each level.
func (t *Tree) plant(r *root) error {
	var below uint16
	for level := leaf; level >= 0; level-- {
		row, err := t.take(level)
		if err != nil {
			return err
		}
		t.nodes[level][row].child[0] = below
		below = row
	}
	r.row, r.valid = below, true
	return nil
}

// finish takes a tree away that has no prefixes any more.
func (t *Tree) finish(r *root) {
	if len(r.groups.of) > 0 || !r.valid {
		return
	}
	for level, row := 0, r.row; level < levels; level++ {
		below := t.nodes[level][row].child[0]
		t.drop(level, row)
		row = below
	}
	r.valid = false
}

// emit gives the places of new nodes their groups, and appends the nodes' rows. The node's addresses
// are those from first to last.
func (t *Tree) emit(out Writes, r *root, level int, row uint16, first, last uint64) Writes {
	n := &t.nodes[level][row]
	if !r.valid || n.state != fresh {
		return out
	}
	least := common(first, last) + 1 // shorter ones hold all of the node
	if level == 0 {
		least = 0
	}
	for place := range n.count + 1 {
		from, to := first, last
		if place > 0 {
			from = n.ends[place-1]
		}
		if place < n.count {
			to = n.ends[place] - 1
		}
		n.group[place] = r.groups.covering(from, to, least)
		if level < leaf {
			out = t.emit(out, r, level+1, n.child[place], from, to)
		}
	}
	ends, below := n.encode(level)
	index := level<<indexOf | int(row)
	out = append(out, Write{regs.InnerTablePrefix, index, ends})
	if below != nil {
		out = append(out, Write{regs.InnerTablePrefixChild, index, below})
	}
	return out
}

// write is the row of the root.
func (r *root) write(version int) Write {
	f, row := regs.PrefixRootRow, make([]uint32, words(regs.PrefixRootRow.Bits))
	if r.valid {
		f.Node.Put(row, uint64(r.row))
		f.Valid.Put(row, 1)
	}
	return Write{regs.InnerTablePrefixRoot, version, row}
}

// group is that of a prefix; 0 if the tree does not have it.
func (t *Tree) group(prefix netip.Prefix) uint8 {
	version, s, err := spanOf(prefix)
	if err != nil {
		return 0
	}
	return t.roots[version].groups.of[s]
}

// Lookup is the group that the chip finds for an address; 0 if no prefix holds it.
func (t *Tree) Lookup(addr netip.Addr) (group uint8) {
	version, key := keyOf(addr)
	r := &t.roots[version]
	if !r.valid {
		return 0
	}
	row := r.row
	for level := range levels {
		n := &t.nodes[level][row]
		place := n.place(key)
		if n.group[place] != 0 {
			group = n.group[place]
		}
		row = n.child[place]
	}
	return group
}

func (t *Tree) full(level int) error {
	return &FullError{fmt.Errorf("the chip's tree of prefixes is full: level %d has %d rows", level, len(t.nodes[level]))}
}
