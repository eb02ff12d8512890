// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

func placedOf(p *model.Policy, row Row) Placed {
	return Placed{Owner: p.Selector.String(), Row: row, Priority: p.Priority, Age: p.Age, Pos: p.Pos}
}

// partsOf are the rules of a policy, which stand in the table one after the other.
func partsOf(p *model.Policy, rows []Row) (rules []Placed) {
	for part, row := range rows {
		rule := placedOf(p, row)
		rule.Part = part
		rules = append(rules, rule)
	}
	return rules
}

// inPolicies become selectors of inbound SAs, or rules of the outer chip. A policy written for `in`
// and again for `fwd` is one.
func (c *compiler) inPolicies() error {
	type named struct {
		xfrm.Selector
		ifID uint32
	}
	rules := map[named]*model.Policy{}
	var order, open []*model.Policy
	for p := range c.m.Policies.All() {
		if p.Dir == xfrm.DirOut {
			continue
		}
		key := named{p.Selector, p.IfID}
		key.Dev = ""
		first, twice := rules[key]
		if !twice {
			first = p
			rules[key] = p
			order = append(order, p)
			if p.Template == nil && p.Action != xfrm.ActionBlock {
				open = append(open, p)
			}
		}
		if p.Template != nil {
			c.nameInbound(p, first)
		}
		if first.Action != p.Action || (first.Template == nil) != (p.Template == nil) {
			return xfrm.Errorf(p.Pos, "the in and fwd policies with selector %s differ: the box has one rule for both", p.Selector)
		}
	}
	for _, p := range order {
		if p.IfID != 0 {
			continue // clear packets meet policies without if_id alone
		}
		if err := c.inRule(p, open); err != nil {
			return err
		}
	}
	return c.inboundSets(order)
}

// letsIn says whether an in or fwd policy lets clear packets in.
func letsIn(p *model.Policy) bool { return p.Template == nil && p.Action == xfrm.ActionAllow }

// isBefore says whether a policy is asked before one of others, for a packet of both.
func isBefore(p *model.Policy, others []*model.Policy) bool {
	return slices.ContainsFunc(others, func(q *model.Policy) bool { return p.Before(q) && p.Overlaps(q.Selector) })
}

// inRule makes the outer chip's rule of one in or fwd policy; open are those that let clear packets
// in or punt them.
func (c *compiler) inRule(p *model.Policy, open []*model.Policy) error {
	if p.Template == nil {
		c.warnUnasked(p)
	}
	d := decision{action: regs.ActionDiscard, priority: p.Priority}
	switch {
	case p.VRF != "":
		return nil // clear packets from black are in no VRF
	case p.Template != nil:
		// Clear packets that should have come through the tunnel are discarded. That is the
		// default, unless a rule that comes later would let them in.
		if !isBefore(p, open) {
			return nil
		}
	case letsIn(p):
		return c.bypassIn(p)
	case p.Action == xfrm.ActionPunt:
		d.action = regs.ActionPunt
	}
	c.out.OuterRules = append(c.out.OuterRules, partsOf(p, c.ruleRows(p.Selector, d))...)
	return nil
}

// bypassIn lets clear packets of a policy in, to the next hop of each prefix of its dst. The inner
// chip asks a rule of its own ([compiler.inboundRules]).
func (c *compiler) bypassIn(p *model.Policy) error {
	c.out.BypassDecrypt = true
	var rows []Row
	for _, sel := range p.ByDst() {
		row, _, err := c.bypassHop(xfrm.Red, sel.Dst, p.Pos)
		if err != nil {
			return err
		}
		rows = append(rows, c.ruleRows(sel, decision{action: regs.ActionBypass, argument: uint64(row), priority: p.Priority})...)
	}
	c.out.OuterRules = append(c.out.OuterRules, partsOf(p, rows)...)
	return nil
}
