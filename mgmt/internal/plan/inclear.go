// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"math"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Rules come before policies by prefix do, and go after them and after flows. So when a change
// brings a rule that lets clear packets pass, and a policy by prefix that is asked before it, the
// rule must not let packets pass until that policy is there. When both go, it must let none pass
// any more.

// inClear is what a change does to policies that let no clear packets pass: the lowest priority
// number of those by prefix that come, and of these and flows that go.
type inClear struct{ come, gone uint64 }

func newInClear() inClear { return inClear{math.MaxUint64, math.MaxUint64} }

// lowest counts a row in.
func lowest(number *uint64, row compile.Row) {
	if f := regs.FlowRow; len(row) > 0 && f.Action.Get(row) != regs.ActionBypass {
		*number = min(*number, f.Priority.Get(row))
	}
}

// lets says whether a rule lets clear packets pass, to which a number comes before.
func lets(row compile.Row, number uint64) bool {
	return len(row) > 0 && regs.RuleRow.Action.Get(row) == regs.ActionBypass && urgency(row) >= number
}

// shut is a rule that lets nothing pass.
func shut(row compile.Row) compile.Row {
	row = slices.Clone(row)
	regs.RuleRow.Action.Put(row, regs.ActionDiscard)
	regs.RuleRow.Sa.Put(row, 0)
	return row
}

// isRule says whether a write is one of the rules of the inner chip for out policies.
func (w *Write) isRule() bool {
	return w.Chip == transport.Inner && w.Table.Name == regs.InnerTableRule.Name
}

// flowsGo counts in the flows that go.
func (p *planner) flowsGo() {
	for _, w := range p.Writes {
		if w.Table.Name == regs.InnerTableFlow.Name && w.Row == nil {
			lowest(&p.clear.gone, p.old.Flow[w.Index])
		}
	}
}

// shutGoing shuts the rules that go. Those whose policies go by prefix now only move.
func (p *planner) shutGoing() {
	if p.clear.gone == math.MaxUint64 || p.Target.Part != nil && !p.Target.Part.Rules {
		return
	}
	stay := p.going(regs.InnerTableRule)
	for _, rule := range p.Target.InnerRules {
		stay[rule.Owner] = rule.Age
	}
	for _, w := range p.Writes {
		if w.isRule() && w.Phase <= PhaseInsert {
			stay[p.old.InnerRule[w.Index].Owner] = 0 // another rule has the row
		}
	}
	for _, index := range slices.Sorted(maps.Keys(p.old.InnerRule)) {
		rule := p.old.InnerRule[index]
		if _, stays := stay[rule.Owner]; !stays && lets(rule.Row, p.clear.gone) {
			p.add(Write{Phase: PhaseInsert, Chip: transport.Inner, Table: regs.InnerTableRule, Index: index, Row: shut(rule.Row)})
		}
	}
}

// openLate has rules that come do so shut, and opens them when the others are in their places.
// Those whose policies went by prefix before only move.
func (p *planner) openLate() {
	if p.clear.come == math.MaxUint64 {
		return
	}
	had := map[string]bool{}
	for _, rule := range p.old.InnerRule {
		if regs.RuleRow.Action.Get(rule.Row) == regs.ActionBypass {
			had[rule.Owner] = true
		}
	}
	for _, policy := range slices.Concat(p.m.Policies.Moved(), p.m.Changes.RemovedPolicies()) {
		if p.m.Policies.WasByPrefix(policy) {
			had[policy.Selector.String()] = true
		}
	}
	opens := map[int]bool{}
	for index, rule := range p.Image.InnerRule {
		opens[index] = !had[rule.Owner] && lets(rule.Row, p.clear.come)
	}
	comes := func(row compile.Row) bool {
		for index, rule := range p.Image.InnerRule {
			if opens[index] && slices.Equal(rule.Row, row) {
				return true
			}
		}
		return false
	}
	for i := range p.Writes {
		if w := &p.Writes[i]; w.isRule() && lets(w.Row, p.clear.come) && comes(w.Row) {
			w.Row = shut(w.Row)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(opens)) {
		if opens[index] {
			p.add(Write{Phase: phaseOpen, Chip: transport.Inner, Table: regs.InnerTableRule, Index: index, Row: p.Image.InnerRule[index].Row})
		}
	}
}
