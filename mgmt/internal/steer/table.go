// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// table has the written routes of a network and the networks of its addresses by prefix, so that a
// look-up costs the same however many there are. It sees each of them once, when it is made.
type table struct {
	network
	ids     map[string]uint32 // of the network's interfaces, by name
	written map[netip.Prefix]lead
	lengths [2][129]bool // that some of IPv4 and of IPv6 have
}

// lead is to an interface, or elsewhere.
type lead struct {
	kind Kind
	ifID uint32
}

// table makes that of all prefixes, or, for some prefixes in their order, with no more than they
// need: all that hold one of them.
func (n network) table(some ...netip.Prefix) *table {
	t := &table{network: n, ids: map[string]uint32{}, written: map[netip.Prefix]lead{}}
	for _, i := range n.own.Interfaces {
		if i.VRF == n.vrf {
			t.ids[i.Name] = i.IfID
		}
	}
	add := func(p netip.Prefix, to lead) {
		if len(some) > 0 && !holdsOne(p, some) || !learned.Treeable(p) {
			return
		}
		// A route to an interface comes before those of ports, which are for packets out of tunnels
		// and into them.
		if old, has := t.written[p]; !has || old.kind == Elsewhere {
			t.written[p] = to
			t.lengths[family(p)][p.Bits()] = true
		}
	}
	for _, r := range n.own.Routes {
		if r.Dev == model.Tunnels {
			continue // which is for packets out of tunnels alone
		}
		if ifID, has := t.ids[r.Dev]; has {
			add(r.Prefix, lead{Routed, ifID})
		} else {
			add(r.Prefix, lead{kind: Elsewhere})
		}
	}
	for _, a := range n.own.Addrs {
		add(a.Prefix.Masked(), lead{kind: Elsewhere})
	}
	return t
}

// holdsOne says whether a prefix holds one of some that are in their order.
func holdsOne(p netip.Prefix, some []netip.Prefix) bool {
	at, _ := slices.BinarySearchFunc(some, p, learned.Compare)
	return at < len(some) && xfrm.Within(p, some[at])
}

func family(p netip.Prefix) int {
	if p.Addr().Is6() {
		return 1
	}
	return 0
}

// route is where the route of just a prefix leads: to which interface, or elsewhere.
func (t *table) route(p netip.Prefix) (kind Kind, ifID uint32) {
	if !learned.Treeable(p) || p.Addr().IsMulticast() {
		return Unsaid, 0
	}
	written := t.written[p]
	r := t.own.FromLinux[learned.Steering].Find(p)
	if r != nil && !r.OnChip() {
		r = nil
	}
	switch {
	case written.kind == Routed:
		return Routed, written.ifID
	case r != nil && r.Dev != "":
		if id, has := t.ids[r.Dev]; has {
			return Routed, id
		}
		return Dropped, 0 // Linux has the interface, and the box has not, or in another network
	case written.kind == Elsewhere:
		return Elsewhere, 0
	case r == nil:
		return Unsaid, 0
	case r.Type != "":
		return Dropped, 0
	}
	return Elsewhere, 0
}

// longest is where the longest route leads that holds all of a prefix, of those that the chip's
// tree can have.
func (t *table) longest(p netip.Prefix) (kind Kind, ifID uint32) {
	linux := t.own.FromLinux[learned.Steering].Longest(p, func(r *learned.Route) bool { return r.OnChip() && learned.Treeable(r.Prefix) })
	for bits := p.Bits(); bits >= 0; bits-- {
		if linux != nil && linux.Prefix.Bits() == bits {
			return t.route(linux.Prefix)
		}
		if !t.lengths[family(p)][bits] {
			continue
		}
		q, _ := p.Addr().Prefix(bits) // has so many bits
		if t.written[q].kind != Unsaid {
			return t.route(q)
		}
	}
	return Dropped, 0
}

// entry is what the tree has for just a prefix.
func (t *table) entry(p netip.Prefix) Lead {
	kind, ifID := t.route(p)
	switch kind {
	case Routed:
		return t.class(ifID, p)
	case Unsaid:
		kind, ifID = t.longest(p)
		switch {
		case kind == Routed && t.hasPolicies(ifID, p):
			return Lead{t.number, Routed, ifID, p}
		case p.Bits() == 0:
			return t.lead(kind)
		}
		return Lead{}
	}
	return t.lead(kind)
}
