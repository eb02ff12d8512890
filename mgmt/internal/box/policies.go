package box

import (
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

func (p *Policy) placed(row Row) placed {
	return placed{owner: p.Selector.String(), row: row, priority: p.Priority, age: p.Age, pos: p.pos}
}

// parts are the rules of a policy, which stand in the table one after the other.
func (p *Policy) parts(rows []Row) (rules []placed) {
	for part, row := range rows {
		rule := p.placed(row)
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
		if p.Template != nil {
			if err := c.nameInbound(p); err != nil {
				return err
			}
		}
		key := p.Selector
		key.Dev = ""
		first, twice := rules[key]
		if !twice {
			rules[key] = p
			order = append(order, p)
			if p.Template == nil && p.Action != xfrm.ActionBlock {
				open = append(open, p)
			}
			continue
		}
		if first.Action != p.Action || (first.Template == nil) != (p.Template == nil) {
			return xfrm.Errorf(p.pos, "the in and fwd policies with selector %s differ: the box has one rule for both", p.Selector)
		}
	}
	for _, p := range order {
		if err := c.inRule(p, order, open); err != nil {
			return err
		}
	}
	return nil
}

// inRule makes the rule of one in or fwd policy; open are those that let clear packets in.
func (c *compiler) inRule(p *Policy, all, open []*Policy) error {
	if p.Template == nil {
		c.warnUnasked(p)
	}
	action, argument := uint64(regs.ActionDiscard), 0
	switch {
	case p.Template != nil:
		// Clear packets that should have come through the tunnel are discarded. That is the default, unless a rule that
		// comes later would let them in.
		if !slices.ContainsFunc(open, func(q *Policy) bool {
			return p.Overlaps(q.Selector) && (q.Priority > p.Priority || q.Priority == p.Priority && q.Age > p.Age)
		}) {
			return nil
		}
	case p.Action == xfrm.ActionAllow:
		row, _, err := c.bypassHop(xfrm.Red, p)
		if err != nil {
			return err
		}
		action, argument = regs.ActionBypass, row
		c.out.bypassDecrypt = true
	case p.Action == xfrm.ActionPunt:
		action = regs.ActionPunt
	default:
		for _, q := range all {
			if q.Template != nil && p.Overlaps(q.Selector) && (p.Priority < q.Priority || p.Priority == q.Priority && p.Age < q.Age) {
				return xfrm.Errorf(p.pos, "this block comes before the protected policy %s, but decrypted packets are held to their SA's one selector alone: narrow that instead", q.Selector)
			}
		}
	}
	c.out.outerRules = append(c.out.outerRules, p.parts(ruleRows(p.Selector, decision{action: action, argument: uint64(argument), priority: p.Priority}))...)
	return nil
}

// nameInbound notes a policy's selector at every inbound SA that its template asks for. An SA may have two policies that let in
// every address, one of each IP version.
func (c *compiler) nameInbound(p *Policy) error {
	found := false
	for _, sa := range c.find.named(p, xfrm.DirIn) {
		found = true
		sel := sa.Carried(p.Selector)
		sel.Dev = ""
		whole := sel
		if other, twice := c.selector[sa]; twice {
			var one bool
			if whole, one = other.Join(sel); !one {
				return xfrm.Errorf(p.pos, "the inbound SA spi 0x%x has a policy with another selector already (%s): an SA has one", sa.SPI, other)
			}
		}
		c.selector[sa] = whole
	}
	if !found {
		c.report.warn(p.pos, "no inbound SA fits the tmpl src %s dst %s yet", xfrm.AddrText(p.Template.Src), xfrm.AddrText(p.Template.Dst))
	}
	return nil
}
