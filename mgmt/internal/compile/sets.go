// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// set is a selector set of an inbound SA: what the SA carries of a policy.
type set struct {
	sel    xfrm.Selector
	policy *model.Policy
	mss    bool // of either of the policies for in and fwd
}

// nameInbound notes the part of a policy that each inbound SA of its template carries. A policy
// written for `in` and again for `fwd` is one policy, the first, with `flag mss` if either has it.
func (c *compiler) nameInbound(p, first *model.Policy) {
	found := false
	for _, sa := range c.m.Named(p, xfrm.DirIn) {
		found = true
		sel := sa.Carried(p.Selector)
		sel.Dev = ""
		c.sets[sa] = withSet(c.sets[sa], set{sel, first, p.MSS})
	}
	if !found {
		c.warnUnnamed(p)
	}
}

func (c *compiler) warnUnnamed(p *model.Policy) {
	c.report.Warn(p.Pos, "no inbound SA fits the tmpl src %s dst %s yet", xfrm.AddrText(p.Template.Src), xfrm.AddrText(p.Template.Dst))
}

// withSet adds a set; of two with one selector the earlier policy's counts.
func withSet(sets []set, s set) []set {
	i := slices.IndexFunc(sets, func(other set) bool { return other.sel == s.sel })
	switch {
	case i < 0:
		return append(sets, s)
	case s.policy == sets[i].policy:
		sets[i].mss = sets[i].mss || s.mss
	case s.policy.Before(sets[i].policy):
		sets[i] = s
	}
	return sets
}

// inboundSets gives each inbound SA one selector for its row, or a group where one cannot say it:
// if it has several sets, or if an earlier policy takes packets of its one set, or if that is a
// list of addresses. all are the in and fwd policies.
func (c *compiler) inboundSets(all []*model.Policy) error {
	before := newEarlier(all)
	groups := map[string]*group{}
	var order []*group
	for sa := range c.m.SAs.All() {
		sets, err := narrowed(sa, c.sets[sa])
		if err != nil {
			return err
		}
		if len(sets) == 0 {
			continue
		}
		if sel, one := oneSelector(sets); one && !before.cuts(sets) {
			c.selector[sa] = sel
			continue
		}
		if sa.IfID != 0 {
			return manySets(sa)
		}
		slices.SortFunc(sets, func(a, b set) int {
			return cmp.Or(cmp.Compare(a.policy.Age, b.policy.Age), strings.Compare(a.sel.String(), b.sel.String()))
		})
		name := fmt.Sprint(sets)
		if groups[name] == nil {
			groups[name] = &group{sets: sets}
			order = append(order, groups[name])
		}
		groups[name].sas = append(groups[name].sas, sa)
		c.group[sa] = groups[name]
	}
	until := c.number(order)
	c.out.Joins = c.joins(order)
	return c.inboundRules(order, all, until)
}

// manySets refuses an inbound SA of an XFRM interface that needs more than one selector: the rules
// for several are those of all interfaces, and would be asked for its packets too.
func manySets(sa *model.SA) error {
	return xfrm.Errorf(sa.Pos, "the inbound SA spi 0x%x with if_id 0x%x has policies that no single selector says, or one of them comes before another: give the interface one in policy that holds them all", sa.SPI, sa.IfID)
}

// String tells sets apart.
func (s set) String() string { return fmt.Sprintf("%s of %d,", s.sel, s.policy.Age) }

// cuts says whether a policy is asked before that of one of some sets, for a packet of both.
func cuts(p *model.Policy, sets []set) bool {
	return slices.ContainsFunc(sets, func(s set) bool { return p.Before(s.policy) && p.Overlaps(s.sel) })
}

// narrowed gives the sets of an SA under its own selector, if it has one. Of several policies it
// may leave some out.
func narrowed(sa *model.SA, sets []set) (out []set, err error) {
	if sa.Sel == nil || len(sets) == 0 {
		return sets, nil
	}
	own := sa.Carried(*sa.Sel)
	own.VRF = sets[0].sel.VRF // the sel of an SA names none
	for _, s := range sets {
		switch {
		case own.Holds(s.sel):
		case s.sel.Covers(own):
			s.sel = own
		case own.Overlaps(s.sel):
			return nil, apart(sa, s)
		default:
			continue
		}
		out = withSet(out, s)
	}
	if len(out) == 0 {
		return nil, apart(sa, sets[0])
	}
	return out, nil
}

func apart(sa *model.SA, s set) error {
	return xfrm.Errorf(sa.Pos, "the sel of the SA spi 0x%x and the selector of its policy (%s) do not contain one another", sa.SPI, s.sel)
}

// oneSelector gives the selector of just the packets of some sets, if there is one: of all, one may
// contain the others, or two take every address, one of each IP version. A list of addresses is
// none that a row could say.
func oneSelector(sets []set) (xfrm.Selector, bool) {
	var wide []xfrm.Selector
	for _, s := range sets {
		if slices.ContainsFunc(wide, func(other xfrm.Selector) bool { return other.Covers(s.sel) }) {
			continue
		}
		wide = append(slices.DeleteFunc(wide, func(other xfrm.Selector) bool { return s.sel.Covers(other) }), s.sel)
	}
	if len(wide) == 2 {
		return wide[0].Join(wide[1])
	}
	return wide[0], len(wide) == 1 && !wide[0].Listed()
}
