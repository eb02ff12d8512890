// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"slices"

	"sallyport/mgmt/internal/regs"
)

// Read reads a row of a table of the inner chip.
type Read func(table regs.Table, index int) ([]uint32, error)

// Resume is the table of a chip that an earlier daemon has written. It has no routes yet, and the
// first Apply must have all of them. That one leads the chip from its trees to those of the routes,
// at once, and writes only what differs. Nodes that make no tree go first. If too few rows are free
// for the new nodes, that Apply gives a *FullError, and the caller may Clear. The prefixes of
// policies are those that the chip has.
//
// Resume reads each row in use once.
func Resume(leaves int, read Read) (*Table, error) { return resumed(leaves, read, false) }

// ResumeNested is Resume where prefixes of policies may hold each other. Then the nodes do not tell
// them, and the first ApplyPolicies in a network must have all of them, as the first Apply has all
// routes.
func ResumeNested(leaves int, read Read) (*Table, error) { return resumed(leaves, read, true) }

func resumed(leaves int, read Read, nested bool) (*Table, error) {
	t := NewTable(leaves)
	for n := range t.tree.roots {
		row, err := read(regs.InnerTablePrefixRoot, n)
		if err != nil {
			return nil, err
		}
		r := &t.tree.roots[n]
		nested := nested && kindOf(n).of() == Policies
		r.found = kindOf(n).of() == Routes || nested
		if regs.PrefixRootRow.Valid.Get(row) == 0 {
			continue
		}
		r.start, r.row = int(regs.PrefixRootRow.Start.Get(row)), uint16(regs.PrefixRootRow.Node.Get(row))
		r.valid, err = t.tree.adopt(kindOf(n), r.start, r.row, 0, ^uint64(0), 0, read)
		if err != nil {
			return nil, err
		}
		if r.valid && kindOf(n).of() == Policies && !nested {
			if r.valid = t.tree.recall(&r.leads, r.start, r.row, 0, ^uint64(0)); !r.valid {
				r.leads = leads{to: map[span]uint16{}}
			}
		}
		r.garbage = !r.valid
		t.tree.keep(r.valid)
	}
	return t, t.groups.resume(t.tree, read)
}

// adopt reads a node of the chip, which has the addresses from first to last, and all nodes below
// it. It says whether they make a tree as this package does.
func (t *Tree) adopt(kind Kind, level int, row uint16, first, last uint64, siblings int, read Read) (bool, error) {
	if level > leaf || int(row) >= len(t.nodes[level]) || t.nodes[level][row].state != free {
		return false, nil
	}
	index := level<<indexOf | int(row)
	ends, err := read(regs.InnerTablePrefix, index)
	if err != nil {
		return false, err
	}
	below := make([]uint32, words(regs.PrefixChildRow.Bits))
	if kind.hasChildren(level) {
		if below, err = read(regs.InnerTablePrefixChild, index); err != nil {
			return false, err
		}
	}
	n := &t.nodes[level][row]
	n.decode(ends, below)
	n.state = fresh
	t.taken[level] = append(t.taken[level], row)
	valid := regs.PrefixRow.Valid.Get(ends) == 1 && (!kind.hasChildren(level) || regs.PrefixChildRow.Valid.Get(below) == 1)
	if !valid || n.count < least(siblings) || !n.rises(first, last) {
		return false, nil
	}
	for place := 0; place <= n.count && level < leaf; place++ {
		from, to := n.bounds(place, first, last)
		if good, err := t.adopt(kind, level+1, n.child[place], from, to, n.count, read); !good {
			return false, err
		}
	}
	return true, nil
}

// recall notes where the leaves below a row of a tree of policies lead. It says whether each place
// that leads anywhere is a prefix.
func (t *Tree) recall(l *leads, level int, row uint16, first, last uint64) bool {
	n := &t.nodes[level][row]
	for place := range n.count + 1 {
		from, to := n.bounds(place, first, last)
		s := span{from, uint8(common(from, to))}
		switch {
		case level < leaf:
			if !t.recall(l, level+1, n.child[place], from, to) {
				return false
			}
		case n.child[place] == 0:
		case from != s.start&mask(s.length) || to != from|^mask(s.length):
			return false
		default:
			l.set(s, n.child[place])
		}
	}
	return true
}

// keep makes the nodes live that were adopted last, or forgets them.
func (t *Tree) keep(good bool) {
	for level := range levels {
		t.unused[level] = slices.DeleteFunc(t.unused[level], func(row uint16) bool {
			return t.nodes[level][row].state == fresh
		})
	}
	if good {
		t.commit()
	} else {
		t.rollBack()
	}
}

// lead changes the nodes that were found on the chip into those of the prefixes of a root.
func (t *Tree) lead(r *root, kind Kind) (err error) {
	wanted := map[uint64]bool{}
	for s := range r.leads.to {
		for _, end := range s.ends() {
			wanted[end] = true
		}
	}
	var differ []uint64
	for _, end := range t.ends(r) {
		if !wanted[end] {
			differ = append(differ, end)
		}
		delete(wanted, end)
	}
	for end := range wanted {
		differ = append(differ, end)
	}
	slices.Sort(differ)
	if len(differ) > 0 || !r.valid && len(r.leads.to) > 0 {
		if err := t.adjust(r, differ); err != nil {
			return err
		}
	}
	if r.valid {
		r.row, err = t.regroup(r, kind, r.start, r.row, 0, ^uint64(0))
	}
	return err
}

// ends are those in the nodes of a root.
func (t *Tree) ends(r *root) (out []uint64) {
	var walk func(level int, row uint16)
	walk = func(level int, row uint16) {
		n := &t.nodes[level][row]
		out = append(out, n.ends[:n.count]...)
		for place := 0; place <= n.count && level < leaf; place++ {
			walk(level+1, n.child[place])
		}
	}
	if r.valid {
		walk(r.start, r.row)
	}
	return out
}

// regroup writes those nodes to new rows in which a place has another group, or of policies another
// row, than its prefixes say, and those above them.
func (t *Tree) regroup(r *root, kind Kind, level int, row uint16, first, last uint64) (uint16, error) {
	for place := 0; place <= t.nodes[level][row].count; place++ {
		n := &t.nodes[level][row]
		from, to := n.bounds(place, first, last)
		child, err := n.child[place], error(nil)
		switch {
		case level < leaf:
			child, err = t.regroup(r, kind, level+1, child, from, to)
		case kind.of() == Policies:
			child = r.leads.policy(from, to)
		}
		if err != nil {
			return 0, err
		}
		if child == n.child[place] && (kind.of() == Policies || n.group[place] == r.leads.group(from, to, first, last)) {
			continue
		}
		if row, err = t.own(level, row); err != nil {
			return 0, err
		}
		t.nodes[level][row].child[place] = child
	}
	return row, nil
}

// uproot takes those roots of a kind from the chip that lead to no tree.
func (t *Tree) uproot(kind Kind) (writes Writes) {
	for n, r := range t.of(kind) {
		if r.garbage {
			writes = append(writes, (&root{}).write(n))
		}
	}
	return writes
}

// resume notes what the groups say that nodes on the chip name, so that prefixes that go there keep
// their rows.
func (g *hopGroups) resume(t *Tree, read Read) error {
	var named [lastGroup + 1]bool
	for level := range levels {
		for row := range t.nodes[level] {
			if n := &t.nodes[level][row]; n.state == live {
				for _, group := range n.group[:n.count+1] {
					named[group] = true
				}
			}
		}
	}
	for group := 1; group <= lastGroup; group++ {
		if !named[group] {
			continue
		}
		row, err := read(regs.InnerTableHopGroup, group)
		if err != nil {
			return err
		}
		if h := decode(row); h != (Hops{}) {
			g.row[h], g.hops[group] = uint8(group), h
		}
	}
	return nil
}

// Clear takes out all routes, of all networks, and gives the writes that take their roots from the
// chip: then no route holds any address, and their rows are free.
func (t *Table) Clear() Writes {
	t.groups = newHopGroups()
	writes := t.tree.clear(Routes)
	for network := 1; network < networks; network++ {
		if t.Has(network) {
			writes = append(writes, t.tree.clear(Routes.in(network))...)
		}
	}
	return writes
}

// ClearPolicies takes out all prefixes of policies in a network likewise.
func (t *Table) ClearPolicies(network int) Writes { return t.tree.clear(Policies.in(network)) }

func (t *Tree) clear(kind Kind) (writes Writes) {
	for n, r := range t.of(kind) {
		if r.valid {
			t.dropAll(r.start, r.row)
		}
		*r = root{leads: leads{to: map[span]uint16{}}}
		writes = append(writes, r.write(n))
	}
	t.commit()
	return writes
}

// dropAll gives up the nodes below a row, and that.
func (t *Tree) dropAll(level int, row uint16) {
	n := &t.nodes[level][row]
	for place := 0; place <= n.count && level < leaf; place++ {
		t.dropAll(level+1, n.child[place])
	}
	t.drop(level, row)
}
