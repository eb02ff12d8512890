package box

import (
	"slices"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// allowed prints the selectors of an inbound SA: what policies say that it carries, the first of them first.
func allowed(m *Model, sa *SA) string {
	var sets []set
	find := newFinder(m.SAs)
	for _, p := range m.Policies {
		if p.Dir == xfrm.DirOut || p.Template == nil || !slices.Contains(find.named(p, xfrm.DirIn), sa) {
			continue
		}
		sel := sa.Carried(p.Selector)
		sel.Dev = ""
		sets = withSet(sets, set{sel, p})
	}
	// What could not be narrowed was refused when it was written.
	sets, _ = narrowed(sa, sets)
	slices.SortFunc(sets, func(a, b set) int {
		if a.policy.before(b.policy) {
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
