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

// Table is a Tree with the groups of next hops that its routes go to.
type Table struct {
	tree   *Tree
	groups *hopGroups
}

// NewTable is the empty table of a chip of as many leaves whose roots are not valid.
func NewTable(leaves int) *Table { return &Table{New(leaves), newHopGroups()} }

// Apply makes changes of routes, and returns the rows to write. The caller writes them in their
// order, before those of the next Apply. After an error the table is as it was; it is a *FullError
// if the rows of nodes or of groups do not suffice.
func (t *Table) Apply(routes []Route) (writes Writes, err error) { return t.ApplyIn(0, routes) }

// ApplyIn makes changes of routes in a network.
func (t *Table) ApplyIn(network int, routes []Route) (writes Writes, err error) {
	kind := Routes.in(network)
	var groups Writes
	var changes []Change
	var left []uint8
	now := map[netip.Prefix]uint8{} // groups of prefixes that this batch names
	for _, route := range routes {
		before, named := now[route.Prefix]
		if !named {
			before = uint8(t.tree.row(kind, route.Prefix))
		}
		row, write, err := t.groups.take(route.Hops)
		if err != nil {
			t.undo(changes, groups)
			return nil, fmt.Errorf("prefix %v: %w", route.Prefix, err)
		}
		groups = append(groups, write...)
		now[route.Prefix] = row
		left = append(left, before)
		changes = append(changes, Change{route.Prefix, uint16(row)})
	}
	uproot := t.tree.uproot(kind)
	writes, err = t.tree.Apply(kind, changes)
	if err != nil {
		t.undo(changes, groups)
		return nil, err
	}
	for _, row := range left {
		t.groups.uses[row]--
	}
	if !t.tree.isFound() {
		t.groups.settle()
	}
	// The rows of nodes are long, so a look-up that began before the last change has ended when a
	// group that it may have read is written.
	first := slices.IndexFunc(writes, func(w Write) bool { return w.Table == regs.InnerTablePrefixRoot })
	return append(uproot, slices.Insert(writes, max(first, 0), groups...)...), nil
}

// Has says whether the chip's trees of routes of a network have a root, or something in its place.
func (t *Table) Has(network int) bool {
	for _, r := range t.tree.of(Routes.in(network)) {
		if r.valid || r.garbage {
			return true
		}
	}
	return false
}

// isFound says whether look-ups may use a tree of routes that an earlier daemon made: until that
// has changed into one of this daemon, its groups stay.
func (t *Tree) isFound() bool {
	for n := range t.roots {
		if r := &t.roots[n]; r.found && r.valid && kindOf(n).of() == Routes {
			return true
		}
	}
	return false
}

// ApplyPolicies gives prefixes of destinations in a network their rows of `prefix_policy`,
// likewise.
func (t *Table) ApplyPolicies(network int, changes []Change) (Writes, error) {
	kind := Policies.in(network)
	uproot := t.tree.uproot(kind)
	writes, err := t.tree.Apply(kind, changes)
	if err != nil {
		return nil, err
	}
	return append(uproot, writes...), nil
}

// PolicyOf is the row of `prefix_policy` of a prefix in a network; 0 if it has none.
func (t *Table) PolicyOf(network int, prefix netip.Prefix) int {
	return int(t.tree.row(Policies.in(network), prefix))
}

// PolicyAt is the row of `prefix_policy` that the chip finds for an address in a network; 0
// if there is none.
func (t *Table) PolicyAt(network int, addr netip.Addr) int {
	return int(t.tree.Lookup(Policies.in(network), addr))
}

// HasPolicies says whether the chip has a tree of policies in a network, whatever it holds.
func (t *Table) HasPolicies(network int) bool {
	for _, r := range t.tree.of(Policies.in(network)) {
		if r.valid || r.garbage {
			return true
		}
	}
	return false
}

// Policies are the prefixes of destinations in a network, and their rows.
func (t *Table) Policies(network int) map[netip.Prefix]int {
	out := map[netip.Prefix]int{}
	for n, r := range t.tree.of(Policies.in(network)) {
		for s, row := range r.leads.to {
			out[s.prefix(n%versions)] = int(row)
		}
	}
	return out
}

// undo gives back the groups of changes that are not made, and the rows that were to be written.
func (t *Table) undo(changes []Change, groups Writes) {
	for _, change := range changes {
		t.groups.uses[change.Row]--
	}
	for _, w := range groups {
		t.groups.forget(uint8(w.Index))
	}
}
