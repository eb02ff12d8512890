// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// saKey and policyKey are what Linux knows an SA and a policy by. A device does not tell policies apart: each direction has one.
type saKey struct {
	dst   netip.Addr
	proto string
	spi   uint32
}

type policyKey struct {
	sel xfrm.Selector
	dir xfrm.Dir
}

func keyOfSA(id xfrm.ID) saKey { return saKey{id.Dst, id.Proto, id.SPI} }

func keyOfPolicy(sel xfrm.Selector, dir xfrm.Dir) policyKey {
	sel.Dev = ""
	return policyKey{sel, dir}
}

// lookups find entries of a model by key, since there may be tens of thousands.
type lookups struct {
	sas      map[saKey]*SA
	policies map[policyKey]*Policy
	indices  map[uint32]*Policy
}

// lookups are made when first needed, and kept in step by the functions below.
func (m *Model) lookups() *lookups {
	if m.found == nil {
		m.found = &lookups{map[saKey]*SA{}, map[policyKey]*Policy{}, map[uint32]*Policy{}}
		for _, sa := range m.SAs {
			m.found.sas[keyOfSA(sa.ID)] = sa
		}
		for _, p := range m.Policies {
			m.found.policies[keyOfPolicy(p.Selector, p.Dir)] = p
			m.found.indices[p.Index] = p
		}
	}
	return m.found
}

func (m *Model) FindSA(id xfrm.ID) *SA { return m.lookups().sas[keyOfSA(id)] }

func (m *Model) FindPolicy(sel xfrm.Selector, dir xfrm.Dir) *Policy {
	return m.lookups().policies[keyOfPolicy(sel, dir)]
}

func (m *Model) insertSA(sa *SA) {
	m.lookups().sas[keyOfSA(sa.ID)] = sa
	m.SAs = append(m.SAs, sa)
}

func (m *Model) insertPolicy(p *Policy) {
	m.lookups().policies[keyOfPolicy(p.Selector, p.Dir)] = p
	m.lookups().indices[p.Index] = p
	m.Policies = append(m.Policies, p)
}

func (m *Model) RemoveSAs(which func(*SA) bool) {
	m.SAs = slices.DeleteFunc(m.SAs, which)
	m.found = nil
}

func (m *Model) removePolicies(which func(*Policy) bool) {
	m.Policies = slices.DeleteFunc(m.Policies, which)
	m.found = nil
}

// ends are the two endpoints and the reqid that templates find SAs by; reqid 0 holds the SAs of every reqid, and no endpoints those
// of every host, in transport mode.
type ends struct {
	src, dst netip.Addr
	reqID    uint32
}

// Finder finds the SAs that a template names.
type Finder map[ends][]*SA

func NewFinder(sas []*SA) Finder {
	f := Finder{}
	for _, sa := range sas {
		keys := []ends{{sa.Src, sa.Dst, 0}}
		if sa.Mode == xfrm.ModeTransport {
			keys = append(keys, ends{})
		}
		for _, key := range keys {
			f[key] = append(f[key], sa)
			if sa.ReqID != 0 {
				key.reqID = sa.ReqID
				f[key] = append(f[key], sa)
			}
		}
	}
	return f
}

// Named gives the SAs that a policy's template names in one direction, or in any if way is empty.
func (f Finder) Named(p *Policy, way xfrm.Dir) []*SA {
	t := p.Template
	end := func(named netip.Addr, hosts netip.Prefix) netip.Addr {
		if !named.IsValid() && hosts.IsSingleIP() {
			return hosts.Addr()
		}
		return named
	}
	key := ends{end(t.Src, p.Src), end(t.Dst, p.Dst), t.ReqID}
	if !key.src.IsValid() || !key.dst.IsValid() {
		key.src, key.dst = netip.Addr{}, netip.Addr{}
	}
	var out []*SA
	for _, sa := range f[key] {
		if p.Names(&sa.State) && (way == "" || sa.Way == way) {
			out = append(out, sa)
		}
	}
	return out
}

// OutPolicy is the out policy that decides on a packet, as the inner chip finds it. At equal
// priority a flow comes first.
func (m *Model) OutPolicy(packet xfrm.Selector) (first *Policy) {
	before := func(p, q *Policy) bool {
		if flow := Exact(p.Selector); p.Priority == q.Priority && flow != Exact(q.Selector) {
			return flow
		}
		return p.Before(q)
	}
	for _, p := range m.Policies {
		if p.Dir == xfrm.DirOut && p.Covers(packet) && (first == nil || before(p, first)) {
			first = p
		}
	}
	return first
}

// Exact reports whether a selector is one row of the flow table. Such a selector names both
// addresses, the protocol, and the numbers that the chips read of that protocol, or says that there
// are none to read. "Any port" is more than one row, because it includes packets without readable
// numbers.
func Exact(s xfrm.Selector) bool {
	numbers := true
	switch {
	case s.Opaque:
	case xfrm.HasPorts(s.Proto):
		numbers = s.SPort.Single() && s.DPort.Single()
	case xfrm.HasType(s.Proto, s.Version()):
		numbers = s.Type.Single() && (s.Code.Single() || !xfrm.HasCode(s.Proto, s.Version()))
	}
	return s.Src.IsSingleIP() && s.Dst.IsSingleIP() && s.Proto != 0 && numbers
}

// Before says whether a policy is asked before another one.
func (p *Policy) Before(q *Policy) bool {
	return cmp.Or(cmp.Compare(p.Priority, q.Priority), cmp.Compare(p.Age, q.Age)) < 0
}

// Rows are the SAs of each direction by their rows.
type Rows map[xfrm.Dir]map[int]*SA

func (m *Model) Rows() Rows {
	at := Rows{xfrm.DirIn: {}, xfrm.DirOut: {}}
	for _, sa := range m.SAs {
		at[sa.Way][sa.Row] = sa
	}
	return at
}

// Order puts false before true.
func Order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
