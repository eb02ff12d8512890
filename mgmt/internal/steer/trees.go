// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Tree has the prefixes of a network's tree, and where each leads.
type Tree = map[netip.Prefix]Lead

// Entries are all prefixes of the trees, by network: routes, and destinations of policies inside a
// route to their interface.
func Entries(m *model.Model) map[int]Tree {
	out := map[int]Tree{}
	for _, n := range networks(m) {
		out[n.number] = n.entries()
	}
	return out
}

func (n network) entries() Tree {
	out := Tree{}
	if n.closed() {
		return out
	}
	t := n.table()
	add := func(p netip.Prefix) {
		if _, twice := out[p]; twice {
			return
		}
		if e := t.entry(p); e.Kind != Unsaid {
			out[p] = e
		}
	}
	add(xfrm.Everything)
	add(xfrm.Everything6)
	for _, r := range n.own.Routes {
		add(r.Prefix)
	}
	for _, a := range n.own.Addrs {
		add(a.Prefix.Masked())
	}
	for r := range n.own.FromLinux[learned.Steering].All() {
		add(r.Prefix)
	}
	for _, i := range n.all.InterfacesOf(n.vrf) {
		for p := range n.all.Policies.OfInterface(i.IfID) {
			add(p.Dst)
		}
	}
	return out
}

// closed says that the chip had no room for all of Linux's routes of the network. A route that is
// not there would give its packets to a shorter one, and so perhaps to another tunnel. So the tree
// is empty then: policies with if_id are for no packet of the network, until there is room for all
// routes.
func (n network) closed() bool { return n.own.FromLinux[learned.Steering].Refused() > 0 }

// Turned says whether a change closes the tree of a network, or opens one.
func Turned(m *model.Model) bool {
	for _, n := range networks(m) {
		if n.closed() != m.Changes.Closed[m.SteeringSet(n.vrf)] {
			return true
		}
	}
	return false
}

// Changed are the prefixes of the trees that routes which were learned may have changed: their own,
// and destinations of policies inside. One that has left the tree is Unsaid.
func Changed(m *model.Model) map[int]Tree {
	out := map[int]Tree{}
	for _, n := range networks(m) {
		if changes := m.Changes.Routes[m.SteeringSet(n.vrf)]; len(changes) > 0 && !n.closed() {
			out[n.number] = n.changed(changes)
		}
	}
	return out
}

func (n network) changed(routes map[netip.Prefix]*learned.Route) Tree {
	out, interfaces := Tree{}, n.all.InterfacesOf(n.vrf)
	for p := range routes {
		if !learned.Treeable(p) || p.Addr().IsMulticast() {
			continue
		}
		out[p] = Lead{}
		for _, i := range interfaces {
			for q := range n.all.Policies.OfInterfaceTo(i.IfID, p) {
				if !p.Contains(q.Dst.Addr()) {
					break
				}
				if q.Dst.Bits() > p.Bits() {
					out[q.Dst] = Lead{}
				}
			}
		}
	}
	if len(out) == 0 {
		return out
	}
	t := n.table(slices.SortedFunc(maps.Keys(out), learned.Compare)...)
	for p := range out {
		out[p] = t.entry(p)
	}
	return out
}
