package box

import (
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

func placedOf(p *Policy, row Row) placed {
	return placed{owner: p.Selector.String(), row: row, priority: p.Priority, age: p.Age, pos: p.pos}
}

// partsOf are the rules of a policy, which stand in the table one after the other.
func partsOf(p *Policy, rows []Row) (rules []placed) {
	for part, row := range rows {
		rule := placedOf(p, row)
		rule.part = part
		rules = append(rules, rule)
	}
	return rules
}

// inPolicies become selectors of inbound SAs, or rules of the outer chip. What is written for `in` and again for `fwd` is one.
func (c *compiler) inPolicies() error {
	rules := map[xfrm.Selector]*Policy{}
	var order, open []*Policy
	for _, p := range c.m.Policies {
		if p.Dir == xfrm.DirOut {
			continue
		}
		key := p.Selector
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
			return xfrm.Errorf(p.pos, "the in and fwd policies with selector %s differ: the box has one rule for both", p.Selector)
		}
	}
	for _, p := range order {
		if err := c.inRule(p, open); err != nil {
			return err
		}
	}
	return c.inboundSets(order)
}

// inRule makes the rule of one in or fwd policy; open are those that let clear packets in.
func (c *compiler) inRule(p *Policy, open []*Policy) error {
	if p.Template == nil {
		c.warnUnasked(p)
	}
	d := decision{action: regs.ActionDiscard, priority: p.Priority}
	switch {
	case p.Template != nil:
		// Clear packets that should have come through the tunnel are discarded. That is the default, unless a rule that
		// comes later would let them in.
		if !slices.ContainsFunc(open, func(q *Policy) bool {
			return p.Overlaps(q.Selector) && p.before(q)
		}) {
			return nil
		}
	case p.Action == xfrm.ActionAllow:
		return c.bypassIn(p)
	case p.Action == xfrm.ActionPunt:
		d.action = regs.ActionPunt
	}
	c.out.outerRules = append(c.out.outerRules, partsOf(p, ruleRows(p.Selector, d))...)
	return nil
}

// bypassIn lets clear packets of a policy in, to the next hop of each prefix of its dst.
func (c *compiler) bypassIn(p *Policy) error {
	c.out.bypassDecrypt = true
	var rows []Row
	for _, sel := range p.ByDst() {
		row, _, err := c.bypassHop(xfrm.Red, sel.Dst, p.pos)
		if err != nil {
			return err
		}
		rows = append(rows, ruleRows(sel, decision{action: regs.ActionBypass, argument: uint64(row), priority: p.Priority})...)
	}
	c.out.outerRules = append(c.out.outerRules, partsOf(p, rows)...)
	return nil
}
