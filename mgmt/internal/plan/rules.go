// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// rules brings a rule table to hold the wanted rules, from row 0 on by priority and then age. Rules
// that are in that order keep their rows.
//
// A lookup at any moment sees the old decision or the new one, unless old rules have to leave first
// to make room. First, rules only come in, move up or get another result, from the first to the
// last. If a matching rule newly stands above a packet's old rule, it is the packet's new rule: all
// rules that will precede it are above it already. Then rules only move down, get a higher priority
// number or go, from the last to the first: the same seen backwards, from the new table to the old.
// In between, rows by prefix change, with which the chip compares the priority of the rule.
func (p *planner) rules(c transport.Chip, table regs.Table, size int, have map[int]compile.Rule, want []compile.Placed) (map[int]compile.Rule, error) {
	t := newRuleTable(size, have, want, p.going(table))
	phase, insert, what, hint := phaseEarlyRemove, PhaseInsert, "rules", "one exact 5-tuple needs none, nor a policy between two prefixes unless its dst holds another's or an older policy of its priority overlaps it, "
	if table == regs.InnerTableInboundRule {
		insert, what, hint = phaseSets, "inbound rules", ""
	}
	t.write = func(index int, row compile.Row) {
		p.add(Write{Phase: phase, Chip: c, Table: table, Index: index, Row: row})
	}
	full := func(rank int, old *cell) error {
		rule := t.want[rank]
		if old != nil {
			return &compile.FullError{Err: xfrm.Errorf(rule.Pos, "no room to move the policy %s to its new place: the table of %d %s of the %s chip is full, and another order needs a free row", rule.Owner, size, what, c)}
		}
		need, free := t.demand(rule.Owner)
		return &compile.FullError{Err: xfrm.Errorf(rule.Pos, "no room for the policy %s: it needs %d of the %d %s of the %s chip, and %d are free (%sa port range up to 30, an IPv4 range up to 62)", rule.Owner, need, size, what, c, free, hint)}
	}

	if p.removeFirst {
		for old := range t.upwards(func(old *cell) bool { return old.rank == unwanted }) {
			t.clear(old)
		}
	}
	phase = insert
	for rank := range t.want {
		old := t.find(rank)
		switch {
		case t.want[rank].Row == nil:
		case old != nil && old.settled:
			if !t.yields(old) {
				t.update(old)
			}
		case old == nil || t.movesUp(old):
			if !t.put(rank) {
				return nil, full(rank, old)
			}
			t.clear(old)
		case table == regs.InnerTableInboundRule && becomesProtect(old.Row, t.want[rank].Row):
			// It moves down, but an SA whose row is about to lead to it had its selector in the row
			// up to now.
			t.update(old)
		}
	}
	if table == regs.InnerTableInboundRule {
		t.join(p.Target.Joins)
	}
	phase = phaseRemove
	for old := range t.upwards(func(old *cell) bool { return !old.settled || t.goes(old) || t.yields(old) }) {
		switch {
		case old.settled && !t.goes(old):
			t.update(old)
			continue
		case old.rank != unwanted && !t.goes(old) && !t.put(old.rank):
			return nil, full(old.rank, old)
		}
		t.clear(old)
	}
	if table == regs.InnerTableInboundRule {
		t.leave(p.Target.Leaves)
	}
	return t.image(), nil
}

// going are the owners of rules that go by prefix now, with their ages. A policy that comes to the
// rules, and went by prefix up to now, must be found before theirs where it is asked before them.
func (p *planner) going(table regs.Table) map[string]uint64 {
	going := map[string]uint64{}
	if table == regs.InnerTableRule && !p.removeFirst {
		for _, rows := range p.Target.Named {
			for _, row := range rows {
				going[row.Owner] = row.Age
			}
		}
	}
	return going
}

// becomesProtect says whether a rule for inbound SAs had none of them, and now has one.
func becomesProtect(old, row compile.Row) bool {
	f := regs.RuleRow.Action
	return f.Get(old) == regs.ActionDiscard && f.Get(row) == regs.ActionProtect
}
