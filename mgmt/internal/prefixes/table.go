// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"fmt"
	"net/netip"

	"sallyport/mgmt/internal/regs"
)

// Route says where packets to a prefix go. With the zero Hops the prefix is taken out.
type Route struct {
	Prefix netip.Prefix
	Hops   Hops
}

// Table is a Tree with the groups of next hops that its prefixes go to.
type Table struct {
	tree   *Tree
	groups *hopGroups
}

// NewTable is the empty table of a chip of as many leaves whose roots are not valid.
func NewTable(leaves int) *Table { return &Table{New(leaves), newHopGroups()} }

// Apply makes changes, and returns the rows to write. The caller writes them in their order, before
// those of the next Apply. After an error the table is as it was; it is a *FullError if the rows of
// nodes or of groups do not suffice.
func (t *Table) Apply(routes []Route) (writes Writes, err error) {
	writes = t.tree.uproot()
	var changes []Change
	var left []uint8
	now := map[netip.Prefix]uint8{} // groups of prefixes that this batch names
	for _, route := range routes {
		before, named := now[route.Prefix]
		if !named {
			before = t.tree.group(route.Prefix)
		}
		row, write, err := t.groups.take(route.Hops)
		if err != nil {
			t.undo(changes, writes)
			return nil, fmt.Errorf("prefix %v: %w", route.Prefix, err)
		}
		writes = append(writes, write...)
		now[route.Prefix] = row
		left = append(left, before)
		changes = append(changes, Change{route.Prefix, row})
	}
	nodes, err := t.tree.Apply(changes)
	if err != nil {
		t.undo(changes, writes)
		return nil, err
	}
	for _, row := range left {
		t.groups.uses[row]--
	}
	t.groups.settle()
	return append(writes, nodes...), nil
}

// undo gives back the groups of changes that are not made, and the rows that were to be written.
func (t *Table) undo(changes []Change, writes Writes) {
	for _, change := range changes {
		t.groups.uses[change.Group]--
	}
	for _, w := range writes {
		if w.Table == regs.InnerTableHopGroup {
			t.groups.forget(uint8(w.Index))
		}
	}
}
