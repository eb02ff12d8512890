// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// group is what inbound SAs share whose selector sets are the same, and more than the one selector
// of a row can say. The sets are rules of the inner chip that bear the group's number, as the SAs'
// rows do. So a rekeyed SA finds its rules there.
type group struct {
	sets   []set
	sas    []*model.SA
	number int
}

// had is the group's number in the row that an inbound SA has on the chip.
func (c *compiler) had(sa *model.SA) (number int, grouped bool) {
	f, row := regs.SelectorRow, c.old.Selector[sa.Row]
	if sa.Fresh || row == nil || f.ByRules.Get(row) == 0 {
		return 0, false
	}
	return int(f.Group.Get(row)), true
}

// number gives each group the number that its SAs' rows have already, or else its rules, or else
// one that no rule has had up to this change: what a row leads to while rows and rules are written
// was its own before or is in the end. It gives the number that a policy's rules need until the
// rows of SAs that have a group no more are written.
func (c *compiler) number(groups []*group) (until map[*model.Policy]int) {
	ruled := map[string]int{}
	taken, kept := map[int]bool{}, map[int]bool{}
	for _, rule := range c.old.InboundRule {
		if regs.RuleRow.Action.Get(rule.Row) == regs.ActionProtect {
			ruled[rule.Owner] = int(regs.RuleRow.Sa.Get(rule.Row))
			taken[ruled[rule.Owner]] = true
		}
	}
	// SAs that are now in no group, or in another one, still lead to their old group until their
	// rows are written. Until then no other group takes that number.
	lead := map[int]bool{}
	for sa := range c.m.SAs.All() {
		if number, grouped := c.had(sa); sa.Way == xfrm.DirIn && grouped {
			lead[number] = true
		}
	}
	var fresh []*group
	for _, g := range groups {
		var own []int
		for _, sa := range g.sas {
			if number, grouped := c.had(sa); grouped {
				own = append(own, number)
			}
		}
		for _, s := range g.sets {
			if number, has := ruled[s.sel.String()]; has && !lead[number] {
				own = append(own, number)
			}
		}
		if own = slices.DeleteFunc(own, func(number int) bool { return kept[number] }); len(own) == 0 {
			fresh = append(fresh, g)
			continue
		}
		g.number = own[0]
		kept[g.number] = true
	}
	next := 0
	for _, g := range fresh {
		for taken[next] {
			next++
		}
		g.number = next
		taken[next] = true
	}
	until = map[*model.Policy]int{}
	for sa := range c.m.SAs.All() {
		if number, grouped := c.had(sa); sa.Way == xfrm.DirIn && grouped && c.group[sa] == nil && !kept[number] {
			for _, s := range c.sets[sa] {
				until[s.policy] = number
			}
		}
	}
	return until
}

// joins says of policies that are gone which group their SAs join, if those had one selector each
// up to now. Such a policy's rule kept clear packets out alone; it must not keep out what its SAs
// carry when their rows lead to rules already.
func (c *compiler) joins(groups []*group) map[string]int {
	out := map[string]int{}
	for _, p := range c.m.Changes.RemovedPolicies() {
		if p.Dir == xfrm.DirOut || p.Template == nil {
			continue
		}
		key := p.Selector
		key.Dev = ""
		named := c.m.Named(p, xfrm.DirIn)
		for _, g := range groups {
			if !slices.ContainsFunc(g.sas, func(sa *model.SA) bool { return c.grouped(sa) || !slices.Contains(named, sa) }) {
				out[key.String()] = g.number
			}
		}
	}
	return out
}

// inboundRules makes the rules of all groups and of what lets clear packets in, and before them
// those of other policies that their packets might meet first: the inbound SPD in its order, as far
// as the inner chip asks it. One selector has one rule, the first.
func (c *compiler) inboundRules(groups []*group, all []*model.Policy, until map[*model.Policy]int) error {
	type entry struct {
		set
		group *group // nil: none
	}
	entries := map[string]entry{}
	for _, g := range groups {
		for _, s := range g.sets {
			other, twice := entries[s.sel.String()]
			if twice && other.policy == s.policy {
				return xfrm.Errorf(s.policy.Pos, "the inbound SAs spi 0x%x and 0x%x share the policy %s, but one has others besides that the other has not: tell their policies apart by the reqid of the tmpl",
					other.group.sas[0].SPI, g.sas[0].SPI, s.sel)
			}
			if !twice || s.policy.Before(other.policy) {
				entries[s.sel.String()] = entry{s, g}
			}
		}
	}
	clear := slices.DeleteFunc(slices.Clone(all), func(p *model.Policy) bool { return !letsIn(p) })
	for _, p := range all {
		if len(groups)+len(clear) == 0 || len(entries) > c.sizes.InnerRules {
			break // there is nothing to ask, or no room anyway
		}
		if p.IfID != 0 {
			continue // no packet of a group or in clear meets it
		}
		key := p.Selector
		key.Dev = ""
		if other, twice := entries[key.String()]; twice && !p.Before(other.policy) {
			continue
		}
		if letsIn(p) || isBefore(p, clear) || slices.ContainsFunc(groups, func(g *group) bool { return !g.has(p) && cuts(p, g.sets) }) {
			entries[key.String()] = entry{set{key, p, p.MSS}, nil}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(entries)) {
		e := entries[owner]
		d := decision{action: regs.ActionDiscard, priority: e.policy.Priority}
		number, needed := until[e.policy]
		if e.group != nil {
			number, needed = e.group.number, true
		}
		switch {
		case needed:
			c.out.Leaves[owner] = e.group == nil
			d.action, d.argument = regs.ActionProtect, uint64(number)
		case letsIn(e.policy):
			d.action = regs.ActionBypass // the outer chip names the next hop
		}
		rules := partsOf(e.policy, c.ruleRows(e.sel, d))
		for i := range rules {
			rules[i].Owner, rules[i].Whole = owner, e.group == nil
		}
		c.out.InboundRules = append(c.out.InboundRules, rules...)
	}
	return nil
}

// has says whether one of a group's sets is of a policy.
func (g *group) has(p *model.Policy) bool {
	return slices.ContainsFunc(g.sets, func(s set) bool { return s.policy == p })
}
