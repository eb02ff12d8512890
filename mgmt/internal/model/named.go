// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// ends are the two endpoints and the reqid that templates find SAs by; reqid 0 holds the SAs of
// every reqid, and no endpoints those of every host, in transport mode.
type ends struct {
	src, dst netip.Addr
	reqID    uint32
}

func (e ends) compare(o ends) int {
	return cmp.Or(e.src.Compare(o.src), e.dst.Compare(o.dst), cmp.Compare(e.reqID, o.reqID))
}

// endsOfSA are all by which an SA is found.
func endsOfSA(sa *SA) []ends {
	all := []ends{{sa.Src, sa.Dst, 0}}
	if sa.Mode == xfrm.ModeTransport {
		all = append(all, ends{})
	}
	if sa.ReqID != 0 {
		for _, e := range all {
			e.reqID = sa.ReqID
			all = append(all, e)
		}
	}
	return all
}

// endsOf are those by which a policy with a template finds its SAs.
func endsOf(p *Policy) ends {
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
	return key
}

// Named gives the SAs that a policy's template names in one direction, or in any if way is empty.
func (m *Model) Named(p *Policy, way xfrm.Dir) (out []*SA) {
	key := endsOf(p)
	m.SAs.ends.Ascend(ended{ends: key}, func(e ended) bool {
		if e.ends != key {
			return false
		}
		if p.Names(&e.sa.State) && (way == "" || e.sa.Way == way) {
			out = append(out, e.sa)
		}
		return true
	})
	return out
}

// Naming gives the policies whose templates name an SA, in their order.
func (m *Model) Naming(sa *SA) (out []*Policy) {
	for _, key := range endsOfSA(sa) {
		m.Policies.ends.Ascend(template{ends: key}, func(t template) bool {
			if t.ends != key {
				return false
			}
			if t.p.Names(&sa.State) {
				out = append(out, t.p)
			}
			return true
		})
	}
	return sortedPolicies(out)
}

// removePoliciesAnd removes policies and, if that is asked for, the SAs that they leave
// without any.
func (m *Model) removePoliciesAnd(orphans xfrm.Orphans, gone []*Policy) {
	m.removePolicies(gone)
	if orphans.Delete {
		m.removeOrphans(gone)
	}
}

// removeOrphans removes the SAs of both directions that policies which are gone named, and that no
// other policy names.
func (m *Model) removeOrphans(gone []*Policy) {
	for _, p := range gone {
		if p.Template == nil {
			continue
		}
		for _, sa := range m.Named(p, "") {
			if len(m.Naming(sa)) == 0 {
				m.RemoveSAs([]*SA{sa})
			}
		}
	}
}
