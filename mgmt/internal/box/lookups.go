package box

import (
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

func (m *Model) findSA(id xfrm.ID) *SA { return m.lookups().sas[keyOfSA(id)] }

func (m *Model) findPolicy(sel xfrm.Selector, dir xfrm.Dir) *Policy {
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

func (m *Model) removeSAs(which func(*SA) bool) {
	m.SAs = slices.DeleteFunc(m.SAs, which)
	m.found = nil
}

func (m *Model) removePolicies(which func(*Policy) bool) {
	m.Policies = slices.DeleteFunc(m.Policies, which)
	m.found = nil
}

// ends are the two endpoints and the reqid that templates find SAs by; reqid 0 holds the SAs of every reqid.
type ends struct {
	src, dst netip.Addr
	reqID    uint32
}

// finder finds the SAs that a template names.
type finder map[ends][]*SA

func newFinder(sas []*SA) finder {
	f := finder{}
	for _, sa := range sas {
		all := ends{sa.Src, sa.Dst, 0}
		f[all] = append(f[all], sa)
		if sa.ReqID != 0 {
			own := ends{sa.Src, sa.Dst, sa.ReqID}
			f[own] = append(f[own], sa)
		}
	}
	return f
}

// named gives the SAs that a template names in one direction, or in any if way is empty.
func (f finder) named(t *xfrm.Template, way xfrm.Dir) []*SA {
	var out []*SA
	for _, sa := range f[ends{t.Src, t.Dst, t.ReqID}] {
		if names(t, sa) && (way == "" || sa.Way == way) {
			out = append(out, sa)
		}
	}
	return out
}

// newest is the outbound SA that a template gets, as Linux prefers it.
func (f finder) newest(t *xfrm.Template) *SA {
	var best *SA
	for _, sa := range f.named(t, xfrm.DirOut) {
		if best == nil || sa.Age > best.Age {
			best = sa
		}
	}
	return best
}
