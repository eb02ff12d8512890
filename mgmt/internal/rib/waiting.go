// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"iter"
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
)

// mostGone is how many more prefixes than there are routes wait for the box. A routing protocol may
// tell new ones and take them back for ever, while the box takes none.
const mostGone = 1 << 14

// mark notes that a prefix has changed, if there is room to note it. Else the next check compares
// all routes with those of the box.
func (t *Table) mark(p netip.Prefix) {
	if _, is := t.dirty[p]; !is && len(t.dirty) >= len(t.all)+mostGone {
		t.missed = true
		return
	}
	t.dirty[p] = struct{}{}
}

// Take gives up to so many prefixes that have changed, as they are now. Those without a route come
// last: another one may take their packets, and is not to come behind.
func (t *Table) Take(most int) (out []learned.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.turns() {
		if len(out) == most {
			break
		}
		delete(t.dirty, p)
		if slices.ContainsFunc(t.all[p], func(r learned.Route) bool { return len(r.Via) > learned.MostWays }) {
			t.wide++
		}
		out = append(out, learned.Change{Prefix: p, Route: t.best(p)})
	}
	slices.SortFunc(out, func(a, b learned.Change) int { return learned.Compare(a.Prefix, b.Prefix) })
	return out
}

// turns are the prefixes that have changed, those without a route last.
func (t *Table) turns() iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		for _, gone := range []bool{false, true} {
			for p := range t.dirty {
				if (len(t.all[p]) == 0) == gone && !yield(p) {
					return
				}
			}
		}
	}
}

// Return gives back changes that could not be made.
func (t *Table) Return(changes []learned.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range changes {
		t.dirty[c.Prefix] = struct{}{}
	}
}

// Missed says that more prefixes have changed than those that were noted.
func (t *Table) Missed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missed
}

// Compare finds what others have otherwise than the table. With `all` also routes that only they
// have count as changed. What neither has is no change.
func (t *Table) Compare(has *learned.Routes, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missed = false
	maps.DeleteFunc(t.dirty, func(p netip.Prefix, _ struct{}) bool {
		return len(t.all[p]) == 0 && p != t.excess && has.Find(p) == nil
	})
	if all {
		for r := range has.All() {
			if len(t.all[r.Prefix]) == 0 {
				t.dirty[r.Prefix] = struct{}{}
			}
		}
	}
	for p := range t.all {
		if r := has.Find(p); r == nil || r.Refused || !r.Same(t.best(p)) {
			t.dirty[p] = struct{}{}
		}
	}
}

// Waits says whether prefixes have changed.
func (t *Table) Waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dump == nil && len(t.dirty) > 0
}
