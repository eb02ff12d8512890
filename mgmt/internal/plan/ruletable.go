// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
)

// ruleTable is the copy of a rule table that a change is planned on. Of the valid rows that match a
// packet the lowest answers, and a row matches nothing while another rule is written to it. So a
// rule that is overwritten stands in another row already, and what changes of a rule in its row is
// its result alone, which the chip takes from one lookup to the next.
type ruleTable struct {
	cells []*cell          // by row; nil is free
	want  []compile.Placed // in order; a rule's index is its rank; without a row it goes
	write func(index int, row compile.Row)
}

// cell is a row that holds a rule. Settled are those in their order.
type cell struct {
	compile.Rule
	rank    int
	settled bool
}

// unwanted is the rank of a rule that goes.
const unwanted = -1

// newRuleTable copies a table. Rules of the owners in `going`, which have an age, keep their place
// in the order until they go, so that those that come stand above them or below.
func newRuleTable(size int, have map[int]compile.Rule, want []compile.Placed, going map[string]uint64) *ruleTable {
	t := &ruleTable{cells: make([]*cell, size), want: slices.Clone(want)}
	for _, rule := range have {
		if age, goes := going[rule.Owner]; goes {
			t.want = append(t.want, compile.Placed{Owner: rule.Owner, Part: rule.Part, Priority: uint32(urgency(rule.Row)), Age: age})
		}
	}
	slices.SortFunc(t.want, func(a, b compile.Placed) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Age, b.Age), model.Order(a.Whole, b.Whole), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Part, b.Part))
	})
	type name struct {
		owner string
		part  int
	}
	ranks := map[name]int{}
	for rank, rule := range t.want {
		ranks[name{rule.Owner, rule.Part}] = rank
	}
	var known, other []*cell
	for _, index := range slices.Sorted(maps.Keys(have)) {
		cell := &cell{Rule: have[index], rank: unwanted}
		if rank, stays := ranks[name{cell.Owner, cell.Part}]; stays {
			if cell.rank = rank; t.goes(cell) || urgency(cell.Row) == urgency(t.want[rank].Row) {
				known = append(known, cell)
			} else {
				other = append(other, cell)
			}
		}
		t.cells[index] = cell
	}
	// A rule that gets another priority moves past the others, and not they past it. So those that
	// come find the others in their order.
	for _, cell := range mostInOrder(known) {
		cell.settled = true
	}
	for _, cell := range other {
		cell.settled = t.inOrder(cell)
	}
	return t
}

// inOrder says whether a cell stands between settled ones as it should.
func (t *ruleTable) inOrder(of *cell) bool {
	index := slices.Index(t.cells, of)
	for at, cell := range t.cells {
		if cell != nil && cell.settled && (at < index) != (cell.rank < of.rank) {
			return false
		}
	}
	return true
}

func (t *ruleTable) image() map[int]compile.Rule {
	out := map[int]compile.Rule{}
	for index, cell := range t.cells {
		if cell != nil {
			out[index] = cell.Rule
		}
	}
	return out
}

// demand is how many rows an owner's rules need, and how many are free or theirs already.
func (t *ruleTable) demand(owner string) (need, free int) {
	for _, rule := range t.want {
		if rule.Owner == owner {
			need++
		}
	}
	for _, cell := range t.cells {
		if cell == nil || cell.Owner == owner {
			free++
		}
	}
	return need, free
}

// find gives the first row that holds a wanted rule, nil if none does.
func (t *ruleTable) find(rank int) *cell {
	for _, cell := range t.cells {
		if cell != nil && cell.rank == rank {
			return cell
		}
	}
	return nil
}

// upwards gives the cells of a kind from the last row to the first. They may be cleared and
// moved meanwhile.
func (t *ruleTable) upwards(kind func(*cell) bool) iter.Seq[*cell] {
	return func(yield func(*cell) bool) {
		for _, cell := range slices.Backward(slices.Clone(t.cells)) {
			if cell != nil && kind(cell) && !yield(cell) {
				return
			}
		}
	}
}

func (t *ruleTable) set(index int, cell *cell) {
	t.cells[index] = cell
	t.write(index, cell.Row)
}

// goes says whether a rule goes that has a place in the order.
func (t *ruleTable) goes(old *cell) bool {
	return old.rank != unwanted && t.want[old.rank].Row == nil
}

// yields says whether a rule that keeps its row gets a higher priority number, so that more flows
// and rows by prefix win over it.
func (t *ruleTable) yields(old *cell) bool {
	return old.settled && !t.goes(old) && urgency(old.Row) < urgency(t.want[old.rank].Row)
}

// urgency is the priority number of a rule.
func urgency(row compile.Row) uint64 { return regs.RuleRow.Priority.Get(row) }

// update gives a rule the result that is wanted, in its row.
func (t *ruleTable) update(old *cell) {
	if row := t.want[old.rank].Row; !slices.Equal(row, old.Row) {
		old.Row = row
		t.set(slices.Index(t.cells, old), old)
	}
}

// join gives rules that go, and have no SAs, to the groups that the SAs of their policies join.
func (t *ruleTable) join(groups map[string]int) {
	for index, cell := range t.cells {
		if cell == nil || cell.rank != unwanted || regs.RuleRow.Action.Get(cell.Row) != regs.ActionDiscard {
			continue
		}
		if group, joins := groups[cell.Owner]; joins {
			cell.Row = slices.Clone(cell.Row)
			regs.RuleRow.Action.Put(cell.Row, regs.ActionProtect)
			regs.RuleRow.Sa.Put(cell.Row, uint64(group))
			t.set(index, cell)
		}
	}
}

// leave makes DISCARD of rules that a group needed while rows of its SAs led to it.
func (t *ruleTable) leave(owners map[string]bool) {
	for index, cell := range t.cells {
		if cell != nil && owners[cell.Owner] {
			cell.Row = slices.Clone(cell.Row)
			regs.RuleRow.Action.Put(cell.Row, regs.ActionDiscard)
			regs.RuleRow.Sa.Put(cell.Row, 0)
			t.set(index, cell)
		}
	}
}

// clear frees the row of a cell, if there is one.
func (t *ruleTable) clear(old *cell) {
	if old == nil {
		return
	}
	index := slices.Index(t.cells, old)
	t.cells[index] = nil
	t.write(index, nil)
}
