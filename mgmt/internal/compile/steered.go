// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/vrf"
	"sallyport/mgmt/internal/xfrm"
)

// Steering are the trees that route packets from red to XFRM interfaces (package steer).
type Steering struct {
	// Rows are those that each lead goes to, at most two; in a part those that may have changed.
	Rows map[steer.Lead][]Placed
	// Trees have the prefixes by network, in a part those whose routes may have changed.
	Trees map[int]steer.Tree
}

// checkSteering refuses policies and tables that do not go with XFRM interfaces.
func (c *compiler) checkSteering() error {
	if err := steer.Check(c.m); err != nil {
		return err
	}
	if len(c.m.Interfaces) > 0 && (c.sizes.Policies == 0 || c.sizes.Prefixes[xfrm.Red] == 0) {
		return xfrm.Errorf(xfrm.Pos{}, "this inner chip has no table of policies by prefix, and XFRM interfaces need one: delete the interface %s", c.m.Interfaces[0].Name)
	}
	return nil
}

// steering makes the trees and their rows; of a part those that may have changed.
func (c *compiler) steering() error {
	if len(c.m.Interfaces) == 0 {
		return nil
	}
	s := &Steering{Rows: map[steer.Lead][]Placed{}}
	c.out.Steering = s
	var leads []steer.Lead
	switch {
	case c.standing == nil:
		leads, s.Trees = steer.Leads(c.m), steer.Entries(c.m)
	case steer.Turned(c.m):
		return errWhole
	default:
		s.Trees = steer.Changed(c.m)
		var err error
		if leads, err = c.touchedLeads(); err != nil {
			return err
		}
	}
	for _, lead := range leads {
		if err := c.leadRows(lead); err != nil {
			return err
		}
	}
	return nil
}

// touchedLeads are those whose rows a part changes. Where a policy is the first or the last one of
// its destination, more prefixes of the tree may lead elsewhere.
func (c *compiler) touchedLeads() (out []steer.Lead, err error) {
	seen := map[steer.Lead]bool{}
	touch := func(p *model.Policy) {
		if p.Dir != xfrm.DirOut || p.IfID == 0 || !steer.Has(c.m, p.IfID) {
			return
		}
		own := steer.Lead{Network: c.m.NetworkOf(p.VRF), Kind: steer.Routed, IfID: p.IfID, Dst: p.Dst}
		leads := steer.Inside(c.m, p)
		if len(leads) == 0 || leads[0] != own || c.standing.ways[xfrm.Red].Steered[own] == nil {
			err = errWhole
		}
		for _, lead := range leads {
			if !seen[lead] {
				seen[lead] = true
				out = append(out, lead)
			}
		}
	}
	for _, p := range c.m.Changes.RemovedPolicies() {
		touch(p)
	}
	for _, p := range c.m.Touched() {
		touch(p)
	}
	return out, err
}

// leadRows makes the rows of a lead. All stand at one place in the SPD.
func (c *compiler) leadRows(lead steer.Lead) error {
	rows, err := steer.Rows(c.m, lead)
	if err != nil {
		return err
	}
	priority := steer.Priority(c.m, lead.Network)
	for _, r := range rows {
		placed := Placed{Owner: "all that nothing lets out to XFRM interfaces", Row: namedRow(r.Src, decision{action: regs.ActionDiscard, priority: priority})}
		if r.Policy != nil {
			d, err := c.steered(r.Policy, lead)
			if err != nil {
				return err
			}
			d.priority = priority
			placed = placedOf(r.Policy, namedRow(r.Src, d))
		}
		c.out.Steering.Rows[lead] = append(c.out.Steering.Rows[lead], placed)
	}
	return nil
}

// steered is what a policy of an interface does with packets.
func (c *compiler) steered(p *model.Policy, lead steer.Lead) (decision, error) {
	c.warnUnasked(p)
	switch {
	case p.Template == nil && (p.Action == xfrm.ActionPunt || p.Action == xfrm.ActionReject):
		return decide(p, regs.ActionPunt), nil
	case p.Template == nil:
		return decide(p, regs.ActionDiscard), nil
	case c.standing != nil && c.byDSCP(p):
		return decision{}, errWhole
	}
	choices := c.m.Choices(p)
	if len(choices) == 0 {
		c.warnUnfit(p)
		return decide(p, regs.ActionPunt), nil
	}
	sel := p.Selector
	sel.Dst = lead.Dst
	return c.protection(p, &choices[0], sel)
}

// checkNetworks refuses policies and SAs that do not go with VRFs.
func (c *compiler) checkNetworks() error { return vrf.Check(c.m) }

// networks makes the rows of the VLANs in VRFs, the rules that punt packets to the box's own
// addresses there, before all policies of the VRF, and the trees of their routes.
func (c *compiler) networks() error {
	c.out.Networks, c.out.Apart = map[int]Row{}, map[int][]Way{}
	for _, v := range c.m.VLANs {
		if v.VRF != "" {
			c.out.Networks[int(v.ID)] = NetworkRow(c.m.NetworkOf(v.VRF))
		}
	}
	for _, v := range c.m.VRFs {
		c.ownAddresses(v)
		if err := c.waysApart(v); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) ownAddresses(v model.VRF) {
	for _, a := range v.Addrs {
		host := netip.PrefixFrom(a.Prefix.Addr(), a.Prefix.Addr().BitLen())
		sel := xfrm.Selector{Src: xfrm.Everything, Dst: host, VRF: v.Name}
		if host.Addr().Is6() {
			sel.Src = xfrm.Everything6
		}
		for part, row := range c.ruleRows(sel, decision{action: regs.ActionPunt}) {
			c.out.InnerRules = append(c.out.InnerRules, Placed{Owner: "the address " + sel.String(), Part: part, Row: row})
		}
	}
}

// waysApart makes the routes of a VRF, if it needs a tree.
func (c *compiler) waysApart(v model.VRF) error {
	own := c.m.Inside(v.Name)
	if !own.Treed() {
		return nil
	}
	if c.sizes.Prefixes[xfrm.Red] == 0 {
		return xfrm.Errorf(xfrm.Pos{}, "this inner chip has no tree of prefixes, and the routes of the VRF %s need one: delete them", v.Name)
	}
	if err := c.gatewaysOf(xfrm.Red, v.Number, own); err != nil {
		return err
	}
	c.out.Apart[v.Number] = c.allApart(v, own)
	return nil
}

func (c *compiler) allApart(v model.VRF, own *model.Model) (ways []Way) {
	for _, way := range own.Ways(xfrm.Red) {
		ways = append(ways, c.way(xfrm.Red, learned.OfTable(v.Table, v.Name), v.Number, way))
	}
	return ways
}

// partApart makes the rows of the gateways of all VRFs, and the ways of prefixes whose routes were
// learned anew.
func (c *compiler) partApart() error {
	c.out.Moved = map[int]*Moved{}
	for _, v := range c.m.VRFs {
		own := c.m.Inside(v.Name)
		set := learned.OfTable(v.Table, v.Name)
		moved := &Moved{Treed: own.Treed(), All: func() []Way { return c.allApart(v, own) }}
		if moved.Treed {
			if err := c.gatewaysOf(xfrm.Red, v.Number, own); err != nil {
				return err
			}
			moved.Ways = c.learnedWays(xfrm.Red, set, v.Number, own)
		}
		if len(c.m.Changes.Routes[set]) == 0 {
			continue
		}
		c.out.Moved[v.Number] = moved
	}
	return nil
}

// NetworkRow is that of a VLAN in a network.
func NetworkRow(network int) Row {
	row := newRow(regs.NetworkRow.Bits)
	regs.NetworkRow.Network.Put(row, uint64(network))
	regs.NetworkRow.Valid.Put(row, 1)
	return row
}

// Blocked is the row of a VLAN between two networks, whose packets no policy takes: of one of both,
// and not of network 0, whose addresses the box has. A row is nil of network 0.
func Blocked(have, want Row) Row {
	row := slices.Clone(have)
	if row == nil {
		row = slices.Clone(want)
	}
	regs.NetworkRow.Blocked.Put(row, 1)
	return row
}

// NetworkRows are how many rows the table of networks has, one for each ID of a VLAN.
const NetworkRows = 4096
