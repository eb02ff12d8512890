// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// outPolicies become flows, rows by prefix and rules of the inner chip.
func (c *compiler) outPolicies() error {
	for p := range c.m.Policies.All() {
		if p.Dir == xfrm.DirOut && p.IfID == 0 {
			if err := c.outPolicy(p); err != nil {
				return err
			}
		}
	}
	c.orderNamed()
	return nil
}

// Destination is a prefix that packets of a network go to.
type Destination struct {
	Network int
	Prefix  netip.Prefix
}

// destination is that of an out policy.
func (c *compiler) destination(p *model.Policy) Destination {
	return Destination{c.m.NetworkOf(p.VRF), p.Dst}
}

// orderNamed puts the rows of each destination into the order of the SPD.
func (c *compiler) orderNamed() {
	for _, rows := range c.out.Named {
		slices.SortFunc(rows, func(a, b Placed) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Age, b.Age))
		})
	}
}

// hasNamed says whether policies go by prefix on this chip. Where there are XFRM interfaces, their
// routes have the tree for themselves.
func (c *compiler) hasNamed() bool { return c.sizes.Policies > 0 && len(c.m.Interfaces) == 0 }

// byPrefix says whether an out policy goes by prefix.
func (c *compiler) byPrefix(p *model.Policy) bool { return c.hasNamed() && c.m.Policies.ByPrefix(p) }

// rules are the out policies that are rules.
func (c *compiler) rules() []*model.Policy {
	rules := c.m.Policies.Rules()
	if !c.hasNamed() {
		rules = append(rules, c.m.Policies.Named()...)
		slices.SortFunc(rules, func(a, b *model.Policy) int { return cmp.Compare(a.At(), b.At()) })
	}
	return rules
}

func (c *compiler) outPolicy(p *model.Policy) error {
	c.warnUnasked(p)
	switch {
	case p.Template != nil:
		return c.protect(p)
	case p.Action == xfrm.ActionAllow:
		return c.bypass(p)
	case p.Action == xfrm.ActionPunt, p.Action == xfrm.ActionReject:
		c.decide(p, p.Selector, decide(p, regs.ActionPunt))
	default:
		c.decide(p, p.Selector, decide(p, regs.ActionDiscard))
	}
	return nil
}

func decide(p *model.Policy, action uint64) decision {
	return decision{action: action, priority: p.Priority, fragment: p.FragmentFirst, clamp: p.MSS, usage: p.Usage}
}

// protect leads a policy's packets to its SA. In transport mode each two hosts have an SA of their
// own. What there is no SA for is punted, so that IKE can be asked for one (RFC 4301 5.1 step 3b).
func (c *compiler) protect(p *model.Policy) error {
	choices, whole := c.m.Choices(p), false
	for i := range choices {
		choice := &choices[i]
		sel := choice.Sas()[0].Carried(p.Selector)
		d, err := c.protection(p, choice, sel)
		if err != nil {
			return err
		}
		c.decide(p, sel, d)
		whole = whole || sel == p.Selector
	}
	if len(choices) == 0 {
		c.warnUnfit(p)
	}
	if !whole {
		c.decide(p, p.Selector, decide(p, regs.ActionPunt))
	}
	return nil
}

func (c *compiler) warnUnfit(p *model.Policy) {
	c.report.Warn(p.Pos, "no outbound SA fits the tmpl src %s dst %s: what the policy matches is punted until there is one", xfrm.AddrText(p.Template.Src), xfrm.AddrText(p.Template.Dst))
}

// protection is the decision that leads what a policy matches between two ends to their SAs.
func (c *compiler) protection(p *model.Policy, choice *model.Choice, sel xfrm.Selector) (decision, error) {
	d := decide(p, regs.ActionProtect)
	sas := choice.Sas()
	var err error
	if d.mtu, err = c.m.SharedMTU(sas, p.Pos); err != nil {
		return d, err
	}
	for i, sa := range sas {
		if sa.Sel != nil {
			own := *sa.Sel
			own.VRF = sel.VRF // the sel of an SA names none
			if !own.Holds(sel) {
				return d, xfrm.Errorf(p.Pos, "the policy is wider than the sel of its SA spi 0x%x", sa.SPI)
			}
		}
		d.argument, d.transport = uint64(sa.Row), sa.Mode == xfrm.ModeTransport
		// A packet whose outer header has DF must not be cut behind ESP.
		d.fragment = d.fragment || sa.SetsDF()
		if sa.TFCPad != sas[0].TFCPad {
			return d, xfrm.Errorf(p.Pos, "the policy chooses by DSCP between the SAs spi 0x%x and 0x%x, which have tfcpad %d and %d: give them one", sas[0].SPI, sa.SPI, sas[0].TFCPad, sa.TFCPad)
		}
		if tfc := c.tfcUnits(sa, sa.TFCPad); i == 0 || tfc < d.tfc {
			d.tfc = tfc
		}
	}
	if choice.ByDSCP() {
		d.argument, d.byDSCP = uint64(c.blocks[blockOf(choice)]), true
		if choice.All == nil && p.Fresh {
			c.report.Warn(p.Pos, "each outbound SA that fits the tmpl src %s dst %s has for-dscp: what the policy matches of other DSCPs is punted", xfrm.AddrText(p.Template.Src), xfrm.AddrText(p.Template.Dst))
		}
	}
	return d, nil
}

// bypass lets a policy's packets out as they are, to the next hop of each prefix of its dst. A
// router cuts the packets that it may cut, for no chip behind the crypto chip cuts clear packets; a
// bridge does not cut.
func (c *compiler) bypass(p *model.Policy) error {
	c.out.BypassEncrypt = true
	var rows []Row
	for _, sel := range p.ByDst() {
		row, mtu, err := c.bypassHop(xfrm.Black, sel.Dst, p.Pos)
		if err != nil {
			return err
		}
		d := decide(p, regs.ActionBypass)
		d.argument, d.mtu, d.fragment = uint64(row), mtu, !c.m.Bump()
		if model.Exact(p.Selector) || c.byPrefix(p) {
			c.decide(p, sel, d)
			return nil
		}
		rows = append(rows, c.ruleRows(sel, d)...)
	}
	c.decideBy(p, p.Selector, rows)
	return nil
}

// bypassHop is the next hop of clear packets that leave by a device, and their MTU there. A bridge
// has neither: frames keep their addresses.
func (c *compiler) bypassHop(dev string, to netip.Prefix, pos xfrm.Pos) (row int, mtu uint32, err error) {
	if c.m.Bump() {
		return 0, 0, nil
	}
	row, path, err := c.hop(dev, "", to, pos)
	return row, cmp.Or(path.Mtu, c.m.Mtu(dev)), err
}

// decide makes the flow, the row by prefix or the rules of what a policy says: of all its packets,
// or of those of two hosts, which come first.
func (c *compiler) decide(p *model.Policy, sel xfrm.Selector, d decision) {
	switch {
	case model.Exact(p.Selector):
		c.out.Flows = append(c.out.Flows, placedOf(p, flowRow(c.packetOf(sel), d)))
		return
	case c.byPrefix(p):
		to := c.destination(p)
		c.out.Named[to] = append(c.out.Named[to], placedOf(p, namedRow(p.Src, d)))
		return
	}
	c.decideBy(p, sel, c.ruleRows(sel, d))
}

// decideBy makes the rules of such packets.
func (c *compiler) decideBy(p *model.Policy, sel xfrm.Selector, rows []Row) {
	rules := partsOf(p, rows)
	for i := range rules {
		if rules[i].Whole = sel == p.Selector; !rules[i].Whole {
			rules[i].Owner += " between " + sel.Src.Addr().String() + " and " + sel.Dst.Addr().String()
		}
	}
	c.out.InnerRules = append(c.out.InnerRules, rules...)
}
