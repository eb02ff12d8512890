// SPDX-License-Identifier: Apache-2.0

package model

import "sallyport/mgmt/internal/xfrm"

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
