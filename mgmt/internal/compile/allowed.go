// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"slices"
	"strings"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Allowed prints the selectors of an inbound SA: what policies say that it carries, the first of
// them first.
func Allowed(m *model.Model, sa *model.SA) string {
	var sets []set
	for _, p := range m.Naming(sa) {
		if p.Dir == xfrm.DirOut {
			continue
		}
		sel := sa.Carried(p.Selector)
		sel.Dev = ""
		sets = withSet(sets, set{sel, p, p.MSS})
	}
	// What could not be narrowed was refused when it was written.
	sets, _ = narrowed(sa, sets)
	slices.SortFunc(sets, func(a, b set) int {
		if a.policy.Before(b.policy) {
			return -1
		}
		return 1
	})
	var texts []string
	for _, s := range sets {
		texts = append(texts, s.sel.String())
	}
	return strings.Join(texts, ", ")
}
