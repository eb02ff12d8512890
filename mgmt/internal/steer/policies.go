// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/byprefix"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// mostRows is how many rows a prefix of the tree leads to.
const mostRows = 2

// Row is what packets from some sources meet: a policy, or, without one, the end of them.
type Row struct {
	Src    netip.Prefix
	Policy *model.Policy
}

// Rows are those of a lead. The first one that holds a packet's source counts.
func Rows(m *model.Model, lead Lead) ([]Row, error) {
	var out []Row
	for _, p := range holding(m, lead) {
		if slices.ContainsFunc(out, func(r Row) bool { return xfrm.Within(r.Src, p.Src) }) {
			continue // no packet comes as far as this one
		}
		if len(out) == mostRows || len(out) == mostRows-1 && p.Src.Bits() > 0 {
			return nil, xfrm.Errorf(p.Pos, "the policies of if_id 0x%x to %s tell apart more sources than a route has room for: besides one src there can be one policy for all others, from 0.0.0.0/0 or ::/0", lead.IfID, lead.Dst)
		}
		if out = append(out, Row{p.Src, p}); p.Src.Bits() == 0 {
			return out, nil
		}
	}
	all := xfrm.Everything
	if lead.Dst.Addr().Is6() {
		all = xfrm.Everything6
	}
	return append(out, Row{Src: all}), nil
}

// holding are the policies of a lead's interface that hold its destination, in the order of the
// SPD.
func holding(m *model.Model, lead Lead) (out []*model.Policy) {
	if lead.Kind != Routed {
		return nil
	}
	for bits := range lead.Dst.Bits() + 1 {
		dst, _ := lead.Dst.Addr().Prefix(bits) // has so many bits
		for p := range m.Policies.OfInterfaceTo(lead.IfID, dst) {
			if p.Dst != dst {
				break
			}
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(p, q *model.Policy) int { return model.Order(q.Before(p), p.Before(q)) })
	return out
}

// Leads are those of all interfaces that the trees can lead to, and Dropped of each.
func Leads(m *model.Model) (out []Lead) {
	for _, n := range networks(m) {
		out = append(out, n.lead(Dropped))
		for _, i := range m.InterfacesOf(n.vrf) {
			for p := range m.Policies.OfInterface(i.IfID) {
				if lead := (Lead{n.number, Routed, i.IfID, p.Dst}); out[len(out)-1] != lead {
					out = append(out, lead)
				}
			}
		}
	}
	return out
}

// Inside are the leads of an interface whose packets a policy may be for.
func Inside(m *model.Model, p *model.Policy) (out []Lead) {
	network := m.NetworkOf(p.VRF)
	for q := range m.Policies.OfInterfaceTo(p.IfID, p.Dst) {
		if !xfrm.Within(p.Dst, q.Dst) {
			break
		}
		if lead := (Lead{network, Routed, p.IfID, q.Dst}); len(out) == 0 || out[len(out)-1] != lead {
			out = append(out, lead)
		}
	}
	return out
}

// Has says whether an interface has an if_id.
func Has(m *model.Model, ifID uint32) bool {
	return slices.ContainsFunc(m.Interfaces, func(i model.Interface) bool { return i.IfID == ifID })
}

// Check refuses out policies that do not go with XFRM interfaces.
func Check(m *model.Model) error {
	for _, p := range m.Touched() {
		if p.Dir != xfrm.DirOut || p.IfID == 0 {
			continue
		}
		shape := byprefix.Policy{Selector: p.Selector, OneRow: true}
		if !shape.Fits() {
			return xfrm.Errorf(p.Pos, "the policy %s with if_id 0x%x cannot be on the chip: a policy of an XFRM interface has one prefix as src and one as dst, over IPv6 of at most 64 bits, and no proto or ports", p.Selector, p.IfID)
		}
	}
	first := m.Policies.FirstClear()
	if first == nil || len(m.InterfacesOf("")) == 0 {
		return nil
	}
	if first.Priority == 0 {
		return xfrm.Errorf(first.Pos, "the policy %s dir out without if_id lets packets pass at priority 0, and policies of XFRM interfaces come before it: give it a priority from 1", first.Selector)
	}
	if m.FromLinux[learned.Steering].Len() > 0 {
		return xfrm.Errorf(first.Pos, "the policy %s dir out without if_id lets clear packets pass, and Linux's routes lead packets to XFRM interfaces: a packet whose route is lost would leave in clear. Delete the policy, or write the routes (route add … dev NAME) and take xfrm out of [taps]", first.Selector)
	}
	return nil
}

// OutPolicy is the out policy that decides on a packet from red, as the inner chip finds it; nil if
// none does.
func OutPolicy(m *model.Model, packet xfrm.Selector) *model.Policy {
	plain := m.OutPolicy(packet)
	lead, at := At(m, packet.VRF, packet.Dst.Addr()), Priority(m, m.NetworkOf(packet.VRF))
	first := plain != nil && (plain.Priority < at || plain.Priority == at && model.Exact(plain.Selector))
	if first || lead.Kind == Unsaid || lead.Kind == Elsewhere {
		return plain
	}
	rows, _ := Rows(m, lead) // a change that makes too many is refused
	for _, r := range rows {
		if r.Src.Contains(packet.Src.Addr()) {
			return r.Policy
		}
	}
	return nil
}
