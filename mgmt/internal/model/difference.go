// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is what a change made of one object; Before is empty of a new one, After of one that
// is gone. Neither has a key.
type Difference struct{ Object, Before, After string }

// Differences are those between a model and the one that it was begun from.
func (m *Model) Differences(before *Model) []Difference {
	out := m.differentSAs(before)
	out = append(out, m.differentPolicies(before)...)
	if m.Changes.Network {
		out = append(out, differentLines(before.networkLines(), m.networkLines())...)
	}
	return out
}

// differentSAs leaves out SAs where only the box's own notes have changed.
func (m *Model) differentSAs(before *Model) []Difference {
	came := slices.DeleteFunc(sorted(m.Changes.SAs), func(sa *SA) bool { return before.SAs.OfAge(sa.Age) != nil })
	return paired(m.Changes.Removed(), came,
		func(sa *SA) string {
			return fmt.Sprintf("xfrm state dst %s proto %s spi 0x%08x", sa.Dst, sa.Proto, sa.SPI)
		},
		func(sa *SA) string {
			text, _ := m.DescribeSA(sa, nil) // fails with a meter alone
			return strings.Join(strings.Fields(text), " ")
		})
}

// differentPolicies leaves out policies that are only written anew.
func (m *Model) differentPolicies(before *Model) []Difference {
	came := slices.DeleteFunc(m.Changes.AddedPolicies(), func(p *Policy) bool {
		_, was := before.Policies.places.Get(p.place)
		return was
	})
	return paired(m.Changes.RemovedPolicies(), came,
		func(p *Policy) string {
			name := fmt.Sprintf("xfrm policy %s dir %s", p.Selector, p.Dir)
			if p.IfID != 0 {
				name += " if_id " + ifIDText(p.IfID)
			}
			return name
		},
		(*Policy).line)
}

// paired puts what went beside what came in its place under the same name.
func paired[V any](went, came []V, name, line func(V) string) (out []Difference) {
	now := map[string]string{}
	for _, v := range came {
		now[name(v)] = line(v)
	}
	for _, v := range went {
		if before := line(v); before != now[name(v)] {
			out = append(out, Difference{name(v), before, now[name(v)]})
		}
		delete(now, name(v))
	}
	for _, v := range came {
		if after, alone := now[name(v)]; alone {
			out = append(out, Difference{name(v), "", after})
		}
	}
	return out
}

// differentLines are lines of one list alone. The first word of a line is its object.
func differentLines(before, after []string) (out []Difference) {
	object := func(line string) string { word, _, _ := strings.Cut(line, " "); return word }
	for _, line := range before {
		if !slices.Contains(after, line) {
			out = append(out, Difference{object(line), line, ""})
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			out = append(out, Difference{object(line), "", line})
		}
	}
	return out
}
