// SPDX-License-Identifier: Apache-2.0

package model

import "sallyport/mgmt/internal/xfrm"

// removePoliciesAnd removes policies and, if that is asked for, the SAs that they leave without any.
func (m *Model) removePoliciesAnd(orphans xfrm.Orphans, which func(*Policy) bool) {
	var gone []*Policy
	for _, p := range m.Policies {
		if orphans.Delete && which(p) {
			gone = append(gone, p)
		}
	}
	m.removePolicies(which)
	m.removeOrphans(gone)
}

// removeOrphans removes the SAs of both directions that policies which are gone named, and that no other policy names.
func (m *Model) removeOrphans(gone []*Policy) {
	find, orphan := NewFinder(m.SAs), map[*SA]bool{}
	mark := func(policies []*Policy, value bool) {
		for _, p := range policies {
			if p.Template == nil {
				continue
			}
			for _, sa := range find.Named(p, "") {
				orphan[sa] = value
			}
		}
	}
	mark(gone, true)
	mark(m.Policies, false)
	m.RemoveSAs(func(sa *SA) bool { return orphan[sa] })
}
