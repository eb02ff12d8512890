// SPDX-License-Identifier: Apache-2.0

package model

import (
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// Changes are what a model has and its origin has not, and the other way round: SAs by age,
// policies by place.
type Changes struct {
	SAs, GoneSAs           map[uint64]*SA
	Policies, GonePolicies map[uint64]*Policy
	// Paths are outbound SAs whose path MTU is another.
	Paths map[uint64]*SA
	// Network says that something else was changed too, or that everything is to be computed anew.
	Network bool
	// Hosts says that hosts which have rows of their own were changed.
	Hosts bool
	// Asked says that a command asks for more than there is. One that takes a command back does
	// not, nor does what follows Linux.
	Asked bool
	// Interfaces says whether the origin has XFRM interfaces. Closed are the sets of Linux's routes
	// to them that the chip had no room for, in whole.
	Interfaces bool
	Closed     map[string]bool
	// Networks are the numbers of the origin's VRFs, by name.
	Networks map[string]int
	// Routes are those that were learned, by set; nil for a prefix that has none any more.
	Routes map[string]map[netip.Prefix]*learned.Route
}

func newChanges() Changes {
	routes := map[string]map[netip.Prefix]*learned.Route{}
	for _, set := range learned.Sets {
		routes[set] = map[netip.Prefix]*learned.Route{}
	}
	return Changes{map[uint64]*SA{}, map[uint64]*SA{}, map[uint64]*Policy{}, map[uint64]*Policy{}, map[uint64]*SA{}, false, false, false, false, map[string]bool{}, map[string]int{}, routes}
}

// route notes a learned route of a set, which may be the first of its set.
func (c *Changes) route(set string, p netip.Prefix, r *learned.Route) {
	if c.Routes[set] == nil {
		c.Routes[set] = map[netip.Prefix]*learned.Route{}
	}
	c.Routes[set][p] = r
}

// Added are the new SAs, the oldest first.
func (c *Changes) Added() []*SA {
	return slices.DeleteFunc(sorted(c.SAs), func(sa *SA) bool { return !sa.Fresh })
}

// Removed are the SAs that are gone, the oldest first.
func (c *Changes) Removed() []*SA { return sorted(c.GoneSAs) }

// OtherPaths are the SAs whose path MTU is another, the oldest first.
func (c *Changes) OtherPaths() []*SA { return sorted(c.Paths) }

// AddedPolicies are those that are new or written anew, in their order.
func (c *Changes) AddedPolicies() []*Policy { return sorted(c.Policies) }

// RemovedPolicies are those that are gone, or of before.
func (c *Changes) RemovedPolicies() []*Policy { return sorted(c.GonePolicies) }

// MayMissPolicies says whether a packet may find none of the policies that it has before and behind
// the change, while that goes on. So it is with several policies, unless all of them come or all of
// them go, and none lets clear packets pass.
func (c *Changes) MayMissPolicies() bool {
	touched, clear := map[string]bool{}, false
	for _, of := range []map[uint64]*Policy{c.Policies, c.GonePolicies} {
		for _, p := range of {
			touched[keyOfPolicy(p.Selector, p.Dir, p.IfID)] = true
			clear = clear || p.Template == nil && p.Action == xfrm.ActionAllow
		}
	}
	return len(touched) > 1 && (clear || len(c.Policies) > 0 && len(c.GonePolicies) > 0)
}

func sorted[V any](of map[uint64]V) (out []V) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[key])
	}
	return out
}

// Begin gives a copy for a change. The model itself stays as it is.
func (m *Model) Begin() *Model {
	routes := map[string]*learned.Routes{}
	for set, of := range m.FromLinux {
		routes[set] = of.Copy()
	}
	changes := newChanges()
	changes.Interfaces = len(m.Interfaces) > 0
	for set, of := range m.FromLinux {
		changes.Closed[set] = learned.Steers(set) && of.Refused() > 0
	}
	for _, v := range m.VRFs {
		changes.Networks[v.Name] = v.Number
	}
	return &Model{SAs: m.SAs.copy(), Policies: m.Policies.copy(), Network: m.Network.copy(), FromLinux: routes, Changes: changes}
}

func (n *Network) copy() Network {
	out := *n
	out.Addrs, out.Routes, out.Neighs, out.VLANs = slices.Clone(n.Addrs), slices.Clone(n.Routes), slices.Clone(n.Neighs), slices.Clone(n.VLANs)
	out.Interfaces, out.VRFs = slices.Clone(n.Interfaces), slices.Clone(n.VRFs)
	for i := range out.VRFs {
		v := &out.VRFs[i]
		v.Addrs, v.Routes, v.Neighs = slices.Clone(v.Addrs), slices.Clone(v.Routes), slices.Clone(v.Neighs)
	}
	out.Links = map[string]*Link{}
	for dev, link := range n.Links {
		own := *link
		out.Links[dev] = &own
	}
	out.Punt = maps.Clone(n.Punt) // Learned is never changed in place
	for dev, groups := range out.Punt {
		out.Punt[dev] = maps.Clone(groups)
	}
	return out
}

func (m *Model) insertSA(sa *SA) {
	m.SAs.put(sa)
	m.Changes.SAs[sa.Age] = sa
}

// RemoveSAs removes SAs of the model.
func (m *Model) RemoveSAs(gone []*SA) {
	for _, sa := range gone {
		m.SAs.remove(sa)
		leave(m.Changes.SAs, m.Changes.GoneSAs, sa.Age, sa)
	}
}

func (m *Model) insertPolicy(p *Policy) {
	m.Policies.put(p)
	m.Changes.Policies[p.place] = p
}

func (m *Model) removePolicies(gone []*Policy) {
	for _, p := range gone {
		m.Policies.remove(p)
		leave(m.Changes.Policies, m.Changes.GonePolicies, p.place, p)
	}
}

// leave notes that something goes. If the same change brought it, it leaves no trace.
func leave[V any](came, gone map[uint64]V, key uint64, what V) {
	if _, is := came[key]; is {
		delete(came, key)
	} else {
		gone[key] = what
	}
}

// EditSA replaces an SA by a copy that `edit` has changed, for others may be reading the SA.
func (m *Model) EditSA(sa *SA, edit func(*SA)) {
	own := *sa
	edit(&own)
	m.SAs.put(&own)
	m.Changes.SAs[own.Age] = &own
}

// Renew has all policies count anew, as behind a loss of the chips' tables, and everything
// be computed.
func (m *Model) Renew() {
	m.Changes.Network = true
	for _, p := range slices.Collect(m.Policies.All()) {
		own := *p
		own.Fresh = true
		m.Policies.put(&own)
		m.Changes.Policies[own.place] = &own
	}
}

// TouchedSAs are those that a change may concern: the new ones, or all if the network changes.
func (m *Model) TouchedSAs() iter.Seq[*SA] {
	if m.Changes.Network {
		return m.SAs.All()
	}
	return slices.Values(m.Changes.Added())
}

// Touched are the policies that a change may concern, in their order: new ones, and those that name
// SAs which came or went, or whose path MTU is another.
func (m *Model) Touched() []*Policy {
	if m.Changes.Network {
		return slices.Collect(m.Policies.All())
	}
	out := m.Changes.AddedPolicies()
	for _, sas := range []map[uint64]*SA{m.Changes.SAs, m.Changes.GoneSAs, m.Changes.Paths} {
		for _, sa := range sas {
			out = append(out, m.Naming(sa)...)
		}
	}
	return sortedPolicies(out)
}

// MarkTimes notes when the SAs that were just installed were.
func (m *Model) MarkTimes(now time.Time) {
	for _, sa := range m.Changes.SAs {
		if sa.Fresh {
			sa.Added = now.Unix()
		}
	}
}

// Settle makes what a change added a part of what there is. Its keys are on the chips now, and
// nowhere else.
func (m *Model) Settle() {
	for _, sa := range m.Changes.SAs {
		if sa.Fresh {
			sa.Wipe()
			sa.Fresh, sa.Pos = false, xfrm.Pos{}
			sa.Aead.Key, sa.Enc.Key, sa.Auth.Key = nil, nil, nil
			m.SAs.settle(sa)
		}
	}
	for _, p := range m.Changes.Policies {
		p.Fresh, p.Pos = false, xfrm.Pos{}
	}
	m.bridged, m.redMTU = xfrm.Pos{}, nil
}
