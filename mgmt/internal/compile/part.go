// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"errors"
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Part is what a target of a part says besides the rows that are to be.
type Part struct {
	// Selectors are the inbound rows that are looked at: those without a row in the target
	// are cleared.
	Selectors []int
	// Flows and SAD are the keys of entries that are gone.
	Flows, SAD []string
	// Peers are those of peers that are gone.
	Peers []string
	// Rules says that the target has all rules of the inner chip; otherwise none of them changes.
	// The destinations of policies by prefix that it does not have stay as they are.
	Rules bool
	// Hosts says that the target has all hosts; otherwise none of them changes.
	Hosts bool
	// Ended are the leads that were.
	Ended []Lead
}

// errWhole says that what a change touches is not told from the rest, so that everything
// is computed.
var errWhole = errors.New("everything is to be computed")

// CompilePart computes the rows that a change of SAs and policies touches, and nothing else. False
// if more than these may change, or if something is wrong or does not fit: Compile computes
// everything then, and says what.
//
// SAs for DSCPs, SAs that send dummy packets, policies that let clear packets pass, policies that
// overlap with another one of an inbound SA, and inbound SAs of several selectors concern others
// besides themselves.
func CompilePart(m *model.Model, old *Image, standing *Standing, sizes Sizes, r *model.Report) (*Target, bool) {
	if m.Changes.Network {
		return nil, false
	}
	c := newCompiler(m, old, sizes, r)
	c.standing, c.out.Part = standing, &Part{}
	c.out.BypassEncrypt, c.out.BypassDecrypt = standing.bypass[0], standing.bypass[1]
	for _, step := range []func() error{c.onlyPlainSAs, c.onlyPlainPolicies, c.checkSteering, c.checkNetworks, c.checkSAs, c.checkSPIs, c.checkExtensions, c.placeSAs, c.placeWindows, c.placeUsage, c.leaveGone, c.partOut, c.steering, c.partIn, c.outboundSAs, c.inboundSAs, c.partSelectors, c.partPeers, c.gateways, c.partApart, c.ways} {
		if step() != nil {
			return nil, false
		}
	}
	c.hops()
	if c.out.Part.Hosts = m.Changes.Hosts; c.out.Part.Hosts {
		c.hosts()
	}
	return &c.out, true
}

// onlyPlainSAs refuses SAs that concern others.
func (c *compiler) onlyPlainSAs() error {
	for _, sa := range slices.Concat(c.m.Changes.Added(), c.m.Changes.Removed(), c.m.Changes.OtherPaths()) {
		if sa.Dummy != nil || sa.ForDSCP != 0 || sa.DSCP.Map != nil {
			return errWhole
		}
		if !sa.Fresh && sa.Way == xfrm.DirIn && c.grouped(sa) {
			return errWhole
		}
	}
	return nil
}

// grouped says whether the row of an inbound SA on the chip leads to rules.
func (c *compiler) grouped(sa *model.SA) bool {
	_, grouped := c.had(sa)
	return grouped
}

// onlyPlainPolicies refuses policies that concern others.
func (c *compiler) onlyPlainPolicies() error {
	for _, p := range slices.Concat(c.m.Changes.AddedPolicies(), c.m.Changes.RemovedPolicies()) {
		switch {
		case p.Template == nil && (p.Dir != xfrm.DirOut || p.Action == xfrm.ActionAllow):
			return errWhole
		case p.Dir != xfrm.DirOut && c.meetsOthers(p), p.Dir == xfrm.DirOut && c.byDSCP(p):
			return errWhole
		}
	}
	return nil
}

// byDSCP says whether an out policy chooses from its SAs by DSCP.
func (c *compiler) byDSCP(p *model.Policy) bool {
	return c.m.SAs.ByDSCP() && p.Template != nil && slices.ContainsFunc(c.m.Named(p, xfrm.DirOut), func(sa *model.SA) bool { return sa.ForDSCP != 0 })
}

// meetsOthers says whether packets of an inbound policy may be those of another: of one whose SAs
// have to be told of it, or of one that lets clear packets in behind it. A policy of the same
// selector for the other direction is the same policy.
func (c *compiler) meetsOthers(p *model.Policy) (meets bool) {
	key := p.Selector
	key.Dev = ""
	c.m.Policies.Overlapping(key, func(q *model.Policy) bool {
		other := q.Selector
		other.Dev = ""
		switch {
		case q.IfID != p.IfID: // an SA meets the policies of its own if_id alone
		case other == key:
			meets = q.Action != p.Action || (q.Template == nil) != (p.Template == nil)
		case q.Before(p), p.IfID != 0:
			meets = true
		default:
			meets = q.Template != nil || q.Action != xfrm.ActionBlock
		}
		return !meets
	})
	return meets
}

// leaveGone lets go of what led from SAs and policies that are gone.
func (c *compiler) leaveGone() error {
	part := c.out.Part
	ended := func(sa *model.SA) {
		if lead, led := c.standing.leads[sa.Age]; led {
			part.Ended = append(part.Ended, lead)
		}
	}
	for _, sa := range c.m.Changes.Removed() {
		ended(sa)
		if sa.Way == xfrm.DirIn {
			part.SAD = append(part.SAD, SadKey(sadRow(sa)))
			part.Selectors = append(part.Selectors, sa.Row)
		}
	}
	for _, sa := range c.m.Changes.OtherPaths() {
		ended(sa)
	}
	for _, p := range c.m.Changes.RemovedPolicies() {
		switch {
		case p.Dir != xfrm.DirOut, p.IfID != 0:
		case model.Exact(p.Selector):
			part.Flows = append(part.Flows, FlowKey(flowRow(c.packetOf(p.Selector), decision{})))
		case c.hasNamed() && c.m.Policies.WasByPrefix(p):
			c.out.Named[c.destination(p)] = nil
		default:
			part.Rules = true
		}
	}
	// The selectors of inbound SAs that stay may change, and so where they lead to.
	for _, sa := range c.named() {
		if c.grouped(sa) {
			return errWhole
		}
		ended(sa)
		part.Selectors = append(part.Selectors, sa.Row)
	}
	stay := map[model.NextHop]int{}
	for hop, n := range c.standing.hops {
		stay[hop] = n
	}
	wanted := map[model.NextHop]int{}
	for hop, n := range c.standing.wanted {
		wanted[hop] = n
	}
	for _, lead := range part.Ended {
		stay[model.NextHop{Dev: lead.Dev, IP: lead.Hop, Network: lead.Network}]--
		wanted[model.NextHop{Dev: lead.Dev, IP: lead.Wanted, Network: lead.Network}]--
	}
	for hop, n := range stay {
		if row, found := c.old.hopRow(hop); n > 0 && found {
			c.hopRows[hop] = row
		}
	}
	for hop, n := range wanted {
		if n > 0 {
			c.out.Wanted[hop] = true
		}
	}
	return nil
}

// named are the inbound SAs that stay and that policies name which came or went, each once.
func (c *compiler) named() (out []*model.SA) {
	seen := map[uint64]bool{}
	for _, p := range slices.Concat(c.m.Changes.AddedPolicies(), c.m.Changes.RemovedPolicies()) {
		if p.Dir == xfrm.DirOut || p.Template == nil {
			continue
		}
		for _, sa := range c.m.Named(p, xfrm.DirIn) {
			if !sa.Fresh && !seen[sa.Age] {
				seen[sa.Age] = true
				out = append(out, sa)
			}
		}
	}
	return out
}

// partOut makes the flows of policies that are touched and, if one of these is a rule or was one,
// all rules. Of policies by prefix it makes those of each destination where something changes.
func (c *compiler) partOut() error {
	var policies []*model.Policy
	for _, p := range c.m.Touched() {
		switch {
		case p.Dir != xfrm.DirOut, p.IfID != 0:
		case model.Exact(p.Selector):
			policies = append(policies, p)
		case c.byPrefix(p):
			c.out.Named[c.destination(p)] = nil
		default:
			c.out.Part.Rules = true
		}
	}
	if c.hasNamed() {
		for _, p := range c.m.Policies.Moved() {
			c.out.Named[c.destination(p)] = nil
			c.out.Part.Rules = c.out.Part.Rules || !p.Fresh
		}
	}
	names := map[int]string{}
	for _, v := range c.m.VRFs {
		names[v.Number] = v.Name
	}
	for dst := range c.out.Named {
		policies = append(policies, c.m.Policies.NamedFor(names[dst.Network], dst.Prefix)...)
	}
	if c.out.Part.Rules {
		policies = append(policies, c.rules()...)
		for _, v := range c.m.VRFs {
			c.ownAddresses(v)
		}
	}
	for _, p := range policies {
		if c.byDSCP(p) {
			return errWhole
		}
		if err := c.outPolicy(p); err != nil {
			return err
		}
	}
	c.orderNamed()
	return nil
}

// partIn gives the inbound SAs that are touched their selectors. One that needs more than a
// selector concerns others.
func (c *compiler) partIn() error {
	sas := c.named()
	for _, sa := range c.m.Changes.Added() {
		if sa.Way == xfrm.DirIn {
			sas = append(sas, sa)
		}
	}
	for _, p := range c.m.Touched() {
		if p.Dir != xfrm.DirOut && p.Template != nil && len(c.m.Named(p, xfrm.DirIn)) == 0 {
			c.warnUnnamed(p)
		}
	}
	for _, sa := range sas {
		for _, p := range c.m.Naming(sa) {
			if p.Dir != xfrm.DirOut {
				sel := sa.Carried(p.Selector)
				sel.Dev = ""
				c.sets[sa] = withSet(c.sets[sa], set{sel, c.firstOf(p), p.MSS})
			}
		}
		sets, err := narrowed(sa, c.sets[sa])
		if err != nil || len(sets) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		sel, one := oneSelector(sets)
		if !one || c.cut(sets) {
			return errWhole
		}
		c.selector[sa] = sel
	}
	return nil
}

// firstOf is the policy that counts of those for in and for fwd: the one that was written first.
func (c *compiler) firstOf(p *model.Policy) *model.Policy {
	twin := c.m.Policies.Find(p.Selector, map[xfrm.Dir]xfrm.Dir{xfrm.DirIn: xfrm.DirFwd, xfrm.DirFwd: xfrm.DirIn}[p.Dir], p.IfID)
	if twin != nil && twin.At() < p.At() {
		return twin
	}
	return p
}

// cut says whether a policy that is not one of the sets' comes before one of theirs, for a packet
// that matches both.
func (c *compiler) cut(sets []set) (is bool) {
	for _, s := range sets {
		c.m.Policies.Overlapping(s.sel, func(p *model.Policy) bool {
			first := c.firstOf(p)
			is = first.IfID == s.policy.IfID && first.Before(s.policy) && !slices.ContainsFunc(sets, func(s set) bool { return s.policy == first })
			return !is
		})
		if is {
			break
		}
	}
	return is
}

// partSelectors makes the rows of inbound SAs that stay.
func (c *compiler) partSelectors() error {
	for _, sa := range c.named() {
		if err := c.selectorOf(sa); err != nil {
			return err
		}
	}
	for _, sa := range c.m.Changes.Added() {
		if sa.Way == xfrm.DirIn {
			c.out.Part.Selectors = append(c.out.Part.Selectors, sa.Row)
		}
	}
	slices.Sort(c.out.Part.Selectors)
	return nil
}
