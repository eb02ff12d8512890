// SPDX-License-Identifier: Apache-2.0

// Package rib follows sets of Linux's routes, and teaches the box the best route of each prefix. It
// keeps no more of them than the chip is meant for.
package rib

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/punt"
)

// Table has the routes of Linux by their prefixes. One goroutine tells it Linux's routes, and
// another takes the changes.
type Table struct {
	mu      sync.Mutex
	room    *room
	count   int                              // of routes, all of a prefix counted
	all     map[netip.Prefix][]learned.Route // those of a prefix in Linux's order
	dump    map[netip.Prefix][]learned.Route // as told since Begin; nil behind Dumped
	dirty   map[netip.Prefix]struct{}        // prefixes that have changed since Take; see mark
	missed  bool                             // others have changed, too, which Compare finds
	changed chan struct{}                    // there is something to take
	over    uint64                           // routes for which there was no room
	wide    uint64                           // prefixes given out with some of their gateways
	lost    bool                             // Linux may have other routes than these
	// Tell says that the box must know of routes without room here: it has the first one, as
	// refused.
	Tell   bool
	excess netip.Prefix
}

// wake says that there is something to take.
func (t *Table) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// room is for so many routes, of one table or of several. Each table has a share, however many
// routes the others have.
type room struct {
	most  int64
	share int
	used  atomic.Int64
}

func newRoom(most int) *room { return &room{most: int64(most)} }

// full says whether there is no room for more routes of a table that has so many.
func (r *room) full(count int) bool { return r.used.Load() >= r.most && count >= r.share }

// add notes routes that came; those that went are below 0.
func (t *Table) add(routes int) {
	t.count += routes
	t.room.used.Add(int64(routes))
}

// NewTable has room for so many routes.
func NewTable(most int) *Table { return newTable(newRoom(most)) }

func newTable(room *room) *Table {
	return &Table{room: room, all: map[netip.Prefix][]learned.Route{}, dirty: map[netip.Prefix]struct{}{}, changed: make(chan struct{}, 1)}
}

// Begin says that Linux tells all its routes now, as after changes were lost.
func (t *Table) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(-t.count)
	t.dump, t.lost = map[netip.Prefix][]learned.Route{}, false
	if t.excess.IsValid() {
		t.dirty[t.excess] = struct{}{}
		t.excess = netip.Prefix{}
	}
}

// Dumped says that Linux has told all of them: others are gone.
func (t *Table) Dumped() {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := func(a, b learned.Route) bool { return a.Same(&b) }
	before := t.all
	t.all, t.dump = t.dump, nil
	for p, now := range t.all {
		if !slices.EqualFunc(before[p], now, same) {
			t.mark(p)
		}
	}
	for p := range before {
		if len(t.all[p]) == 0 {
			t.mark(p)
		}
	}
	t.wake()
}

// Change takes a route that Linux tells.
func (t *Table) Change(c punt.RouteChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.all
	if t.dump != nil {
		of = t.dump
	}
	p := c.Route.Prefix
	before := of[p]
	after, known := changed(before, c)
	if !known && c.Gone && len(before) > 0 {
		t.lost = true // which one is gone Linux says when it tells all of them again
	}
	if len(after) > len(before) && t.room.full(t.count) {
		t.over++
		t.lost = true
		if t.Tell && !t.excess.IsValid() {
			t.excess = p
			t.dirty[p] = struct{}{}
			t.wake()
		}
		return
	}
	if !known {
		return
	}
	t.add(len(after) - len(before))
	if delete(of, p); len(after) > 0 {
		of[p] = after
	}
	if t.dump == nil {
		t.mark(p)
		t.wake()
	}
}

// changed are the routes of a prefix behind a change. Linux's IPv4 may have several of a metric,
// and the first counts. Its IPv6 has one of a metric, and tells all gateways of that at once. A
// change is told twice if it was between the start of listening and Linux's list of all routes.
func changed(routes []learned.Route, c punt.RouteChange) (out []learned.Route, known bool) {
	alike := func(r learned.Route) bool { return r.Metric == c.Route.Metric }
	first := slices.IndexFunc(routes, alike)
	out = slices.Clone(routes)
	v6 := c.Route.Prefix.Addr().Is6()
	same := func(r learned.Route) bool { return r.Same(&c.Route) }
	if !v6 && !c.Gone && !c.Behind {
		out = slices.DeleteFunc(out, same)
		first = slices.IndexFunc(out, alike)
	}
	switch {
	case c.Gone && (first < 0 || v6 && out[first].Dev != c.Route.Dev):
		return out, false
	case c.Gone && v6:
		// A gateway of several may go alone.
		left := slices.DeleteFunc(slices.Clone(out[first].Via), func(via netip.Addr) bool { return slices.Contains(c.Route.Via, via) })
		if len(left) == 0 || len(c.Route.Via) == 0 {
			return slices.Delete(out, first, first+1), true
		}
		out[first].Via = left
	case c.Gone:
		out = slices.DeleteFunc(out, same)
		return out, len(out) < len(routes)
	case !v6 && c.Behind && slices.ContainsFunc(out, same):
		return out, false
	case first >= 0 && (v6 || c.Replaces):
		out[first] = c.Route
	case first >= 0 && !c.Behind:
		out = slices.Insert(out, first, c.Route)
	default:
		out = append(out, c.Route)
	}
	return out, true
}

// best is the route of a prefix that counts: that of the lowest metric.
func (t *Table) best(p netip.Prefix) *learned.Route {
	routes := t.all[p]
	if p == t.excess {
		return &learned.Route{Prefix: p, Elsewhere: true, Refused: true}
	}
	if len(routes) == 0 {
		return nil
	}
	best := routes[0]
	for _, r := range routes[1:] {
		if r.Metric < best.Metric {
			best = r
		}
	}
	if len(best.Via) > learned.MostWays {
		best.Via = best.Via[:learned.MostWays]
	}
	return &best
}

// Counts are how many routes had no room so far, and how many prefixes were given out with fewer
// gateways than they have.
func (t *Table) Counts() (over, wide uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over, t.wide
}

// HasRoom says that Linux may have other routes, for which there is room, if it tells them again.
func (t *Table) HasRoom() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost && !t.room.full(t.count)
}
