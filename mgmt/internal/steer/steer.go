// SPDX-License-Identifier: Apache-2.0

// Package steer says which XFRM interface packets from red are routed to, and which policies they
// meet there. As in Linux, the longest route to a packet's destination decides: packets to an
// interface meet the out policies of its if_id alone, and what none of these is for is dropped.
// Packets out of other devices meet the policies without if_id, and those without a route are
// dropped.
//
// In the inner chip the tree of policies by prefix holds the routes, the longest first, and leads
// to rows of `prefix_policy`. Routes to one interface share their rows. The tree decides by the
// destination alone, so policies of an interface look at prefixes of source and destination. A
// policy's destination that lies inside routes to its interface is a prefix of the tree, too.
//
// Rows of the tree stand at one place in the SPD: before the first policy without if_id that lets
// packets pass in clear, and behind those of lower priority numbers ([Priority]). So no packet that
// is routed to an interface, or nowhere, leaves in clear. A policy without if_id that protects or
// drops packets and stands further ahead counts first, as in Linux.
package steer

import (
	"cmp"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Kind is where packets go.
type Kind int

const (
	Unsaid    Kind = iota // no prefix of the tree says it
	Elsewhere             // out of another device: policies without if_id are asked
	Dropped               // nowhere: no route leads there, or one that ends there
	Routed                // to an interface
)

// Lead is where a prefix of the tree leads: of Routed, to the policies of an interface that hold a
// destination.
type Lead struct {
	Kind Kind
	IfID uint32
	Dst  netip.Prefix
}

// Compare orders leads.
func Compare(a, b Lead) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.IfID, b.IfID), learned.Compare(a.Dst, b.Dst))
}

// Closed says that the chip had no room for all of Linux's routes. A route that is not there would
// give its packets to a shorter one, and so perhaps to another tunnel. So the tree is empty then:
// policies with if_id are for no packet, until there is room for all routes.
func Closed(m *model.Model) bool { return m.FromLinux[learned.Steering].Refused() > 0 }

// Priority is where the rows of the tree stand in the SPD.
func Priority(m *model.Model) uint32 {
	if p := m.Policies.FirstClear(); p != nil {
		return p.Priority - 1
	}
	return ^uint32(0)
}

// route is where the route of just a prefix leads: to which interface, or elsewhere. A route to an
// interface comes before those of ports, which are for packets out of tunnels and into them.
func route(m *model.Model, p netip.Prefix) (kind Kind, ifID uint32) {
	if !learned.Treeable(p) || p.Addr().IsMulticast() {
		return Unsaid, 0
	}
	written := false
	for _, r := range m.Routes {
		if r.Prefix != p || r.Dev == model.Tunnels { // which is for packets out of tunnels alone
			continue
		}
		if i := m.Interface(r.Dev); i != nil {
			return Routed, i.IfID
		}
		written = true
	}
	r := m.FromLinux[learned.Steering].Find(p)
	if r != nil && !r.OnChip() {
		r = nil
	}
	switch {
	case r != nil && r.Dev != "":
		if i := m.Interface(r.Dev); i != nil {
			return Routed, i.IfID
		}
		return Dropped, 0 // Linux has the interface, and the box has not
	case written || slices.ContainsFunc(m.Addrs, func(a model.Address) bool { return a.Prefix.Masked() == p }):
		return Elsewhere, 0
	case r == nil:
		return Unsaid, 0
	case r.Type != "":
		return Dropped, 0
	}
	return Elsewhere, 0
}

// longest is where the longest route leads that holds all of a prefix.
func longest(m *model.Model, p netip.Prefix) (kind Kind, ifID uint32) {
	best := netip.Prefix{}
	take := func(q netip.Prefix) {
		if xfrm.Within(q, p) && learned.Treeable(q) && (!best.IsValid() || q.Bits() > best.Bits()) {
			best = q
		}
	}
	for _, r := range m.Routes {
		if r.Dev != model.Tunnels {
			take(r.Prefix)
		}
	}
	for _, a := range m.Addrs {
		take(a.Prefix.Masked())
	}
	if r := m.FromLinux[learned.Steering].Longest(p, (*learned.Route).OnChip); r != nil {
		take(r.Prefix)
	}
	if !best.IsValid() {
		return Dropped, 0
	}
	return route(m, best)
}

// class is the longest destination of an interface's policies that holds all of a prefix.
func class(m *model.Model, ifID uint32, p netip.Prefix) Lead {
	for bits := p.Bits(); bits >= 0; bits-- {
		if dst, err := p.Addr().Prefix(bits); err == nil && hasPolicies(m, ifID, dst) {
			return Lead{Routed, ifID, dst}
		}
	}
	return Lead{Kind: Dropped}
}

func hasPolicies(m *model.Model, ifID uint32, dst netip.Prefix) (has bool) {
	for p := range m.Policies.OfInterfaceTo(ifID, dst) {
		has = p.Dst == dst
		break
	}
	return has
}

// At is where packets to an address go.
func At(m *model.Model, addr netip.Addr) Lead {
	host := netip.PrefixFrom(addr, addr.BitLen())
	if len(m.Interfaces) == 0 || addr.IsMulticast() || Closed(m) {
		return Lead{}
	}
	kind, ifID := longest(m, host)
	if kind == Routed {
		return class(m, ifID, host)
	}
	return Lead{Kind: kind}
}

// Interface is the name of the interface to which packets to an address are routed; "" if they are
// not.
func Interface(m *model.Model, addr netip.Addr) string {
	if addr.IsMulticast() || Closed(m) {
		return ""
	}
	if kind, ifID := longest(m, netip.PrefixFrom(addr, addr.BitLen())); kind == Routed {
		for _, i := range m.Interfaces {
			if i.IfID == ifID {
				return i.Name
			}
		}
	}
	return ""
}

// entry is what the tree has for just a prefix.
func entry(m *model.Model, p netip.Prefix) Lead {
	kind, ifID := route(m, p)
	switch kind {
	case Routed:
		return class(m, ifID, p)
	case Unsaid:
		kind, ifID = longest(m, p)
		switch {
		case kind == Routed && hasPolicies(m, ifID, p):
			return Lead{Routed, ifID, p}
		case p.Bits() == 0:
			return Lead{Kind: kind}
		}
		return Lead{}
	}
	return Lead{Kind: kind}
}

// Entries are all prefixes of the tree: routes, and destinations of policies inside a route to
// their interface.
func Entries(m *model.Model) map[netip.Prefix]Lead {
	out := map[netip.Prefix]Lead{}
	if Closed(m) {
		return out
	}
	add := func(p netip.Prefix) {
		if _, twice := out[p]; twice {
			return
		}
		if e := entry(m, p); e.Kind != Unsaid {
			out[p] = e
		}
	}
	add(xfrm.Everything)
	add(xfrm.Everything6)
	for _, r := range m.Routes {
		add(r.Prefix)
	}
	for _, a := range m.Addrs {
		add(a.Prefix.Masked())
	}
	for r := range m.FromLinux[learned.Steering].All() {
		add(r.Prefix)
	}
	for _, i := range m.Interfaces {
		for p := range m.Policies.OfInterface(i.IfID) {
			add(p.Dst)
		}
	}
	return out
}

// Changed are the prefixes of the tree that routes which were learned may have changed: their own,
// and destinations of policies inside. One that has left the tree is Unsaid.
func Changed(m *model.Model) map[netip.Prefix]Lead {
	out := map[netip.Prefix]Lead{}
	for p := range m.Changes.Routes[learned.Steering] {
		if !learned.Treeable(p) || p.Addr().IsMulticast() {
			continue
		}
		out[p] = entry(m, p)
		for _, i := range m.Interfaces {
			for q := range m.Policies.OfInterfaceTo(i.IfID, p) {
				if !p.Contains(q.Dst.Addr()) {
					break
				}
				if q.Dst.Bits() > p.Bits() {
					out[q.Dst] = entry(m, q.Dst)
				}
			}
		}
	}
	return out
}
