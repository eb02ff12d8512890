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
//
// Each VRF with interfaces has a tree of its own, by its written routes and those of its table in
// Linux. All its policies without if_id come first, and need no route: none lets clear packets
// pass.
package steer

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
)

// Kind is where packets go.
type Kind int

const (
	Unsaid    Kind = iota // no prefix of the tree says it
	Elsewhere             // out of another device: policies without if_id are asked
	Dropped               // nowhere: no route leads there, or one that ends there
	Routed                // to an interface
)

// Lead is where a prefix of the tree of a network leads: of Routed, to the policies of an interface
// that hold a destination.
type Lead struct {
	Network int
	Kind    Kind
	IfID    uint32
	Dst     netip.Prefix
}

// Compare orders leads.
func Compare(a, b Lead) int {
	return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.IfID, b.IfID), learned.Compare(a.Dst, b.Dst))
}

// Priority is where the rows of the tree of a network stand in the SPD. No policy of a VRF lets
// clear packets pass.
func Priority(m *model.Model, network int) uint32 {
	if p := m.Policies.FirstClear(); p != nil && network == 0 {
		return p.Priority - 1
	}
	return ^uint32(0)
}

// network is one network as its packets from red are routed.
type network struct {
	all    *model.Model // with the policies
	own    *model.Model // with the network's addresses and routes
	vrf    string
	number int
}

func of(m *model.Model, vrf string) network {
	return network{m, m.Inside(vrf), vrf, m.NetworkOf(vrf)}
}

// networks are those that have interfaces.
func networks(m *model.Model) (out []network) {
	has := map[string]bool{}
	for _, i := range m.Interfaces {
		if !has[i.VRF] {
			has[i.VRF] = true
			out = append(out, of(m, i.VRF))
		}
	}
	return out
}

// class is the longest destination of an interface's policies that holds all of a prefix.
func (n network) class(ifID uint32, p netip.Prefix) Lead {
	for bits := p.Bits(); bits >= 0; bits-- {
		if dst, err := p.Addr().Prefix(bits); err == nil && n.hasPolicies(ifID, dst) {
			return Lead{n.number, Routed, ifID, dst}
		}
	}
	return n.lead(Dropped)
}

// lead is one that is of no interface.
func (n network) lead(kind Kind) Lead { return Lead{Network: n.number, Kind: kind} }

func (n network) hasPolicies(ifID uint32, dst netip.Prefix) (has bool) {
	for p := range n.all.Policies.OfInterfaceTo(ifID, dst) {
		has = p.Dst == dst
		break
	}
	return has
}

// At is where packets of a VRF, or of none, to an address go.
func At(m *model.Model, vrf string, addr netip.Addr) Lead {
	host := netip.PrefixFrom(addr, addr.BitLen())
	if len(m.InterfacesOf(vrf)) == 0 || addr.IsMulticast() {
		return Lead{}
	}
	n := of(m, vrf)
	if n.closed() {
		return Lead{}
	}
	kind, ifID := n.table(host).longest(host)
	if kind == Routed {
		return n.class(ifID, host)
	}
	return n.lead(kind)
}

// Interface is the name of the interface to which packets of no VRF to an address are routed; "" if
// they are not.
func Interface(m *model.Model, addr netip.Addr) string {
	n := of(m, "")
	if addr.IsMulticast() || n.closed() {
		return ""
	}
	host := netip.PrefixFrom(addr, addr.BitLen())
	if kind, ifID := n.table(host).longest(host); kind == Routed {
		for _, i := range m.Interfaces {
			if i.IfID == ifID {
				return i.Name
			}
		}
	}
	return ""
}
