// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"fmt"
	"net/netip"
	"slices"

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
	var groups Writes
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
			t.undo(changes, groups)
			return nil, fmt.Errorf("prefix %v: %w", route.Prefix, err)
		}
		groups = append(groups, write...)
		now[route.Prefix] = row
		left = append(left, before)
		changes = append(changes, Change{route.Prefix, row})
	}
	uproot := t.tree.uproot()
	writes, err = t.tree.Apply(changes)
	if err != nil {
		t.undo(changes, groups)
		return nil, err
	}
	for _, row := range left {
		t.groups.uses[row]--
	}
	t.groups.settle()
	// The rows of nodes are long, so a look-up that began before the last change has ended when a
	// group that it may have read is written.
	first := slices.IndexFunc(writes, func(w Write) bool { return w.Table == regs.InnerTablePrefixRoot })
	return append(uproot, slices.Insert(writes, max(first, 0), groups...)...), nil
}

// undo gives back the groups of changes that are not made, and the rows that were to be written.
func (t *Table) undo(changes []Change, groups Writes) {
	for _, change := range changes {
		t.groups.uses[change.Group]--
	}
	for _, w := range groups {
		t.groups.forget(uint8(w.Index))
	}
}
