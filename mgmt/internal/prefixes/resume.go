// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"slices"

	"sallyport/mgmt/internal/regs"
)

// Read reads a row of a table of the inner chip.
type Read func(table regs.Table, index int) ([]uint32, error)

// Resume is the empty table of a chip that looks up in the trees of an earlier daemon. The next
// Apply must have all routes, for it leads both roots to what the table then holds. It writes no
// node and no group that the earlier trees use. If too few rows are left for that, it gives a
// *FullError, and the caller may Clear first. Resume reads each row in use once.
func Resume(leaves int, read Read) (*Table, error) {
	t := NewTable(leaves)
	for version := range t.tree.roots {
		t.tree.roots[version].stale = true
		row, err := read(regs.InnerTablePrefixRoot, version)
		if err != nil {
			return nil, err
		}
		if regs.PrefixRootRow.Valid.Get(row) == 0 {
			continue
		}
		if err := t.tree.hold(0, uint16(regs.PrefixRootRow.Node.Get(row)), read); err != nil {
			return nil, err
		}
	}
	for level, unused := range t.tree.unused {
		t.tree.unused[level] = slices.DeleteFunc(unused, func(row uint16) bool {
			return t.tree.nodes[level][row].state == live
		})
	}
	return t, t.groups.resume(read)
}

// hold notes a node of the chip, and all below it, as in use. A row that the level does not have is
// none.
func (t *Tree) hold(level int, row uint16, read Read) error {
	if int(row) >= len(t.nodes[level]) || t.nodes[level][row].state == live {
		return nil
	}
	t.nodes[level][row].state = live
	t.held[level] = append(t.held[level], row)
	if level == leaf {
		return nil
	}
	below, err := read(regs.InnerTablePrefixChild, level<<indexOf|int(row))
	if err != nil {
		return err
	}
	for place := range children {
		if err := t.hold(level+1, uint16(childField(place).Get(below)), read); err != nil {
			return err
		}
	}
	return nil
}

// resume notes what the rows of groups say, so that prefixes that go there keep their rows.
func (g *hopGroups) resume(read Read) error {
	for group := 1; group <= lastGroup; group++ {
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

// Clear empties the table, and gives the writes that take its roots from the chip: then no prefix
// holds any address, and all rows are free.
func (t *Table) Clear() (writes Writes) {
	leaves := len(t.tree.nodes[leaf])
	*t = *NewTable(leaves)
	for version := range t.tree.roots {
		writes = append(writes, t.tree.roots[version].write(version))
	}
	return writes
}
