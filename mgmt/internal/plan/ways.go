// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// ways changes the trees of prefixes. Their writes stay in their order: nodes and groups that no
// look-up reaches, and then the root that leads to them. Routes of Linux without room are refused,
// and a written one refuses the change.
//
// It comes last, since the trees have changed afterwards. If the change fails all the same, the
// next one finds no tree, and reads it from the image.
//
// Policies by prefix, whose rows are `now`, come first: routes of Linux give way to them. With XFRM
// interfaces, the tree of policies is that of the routes to these.
func (p *planner) ways(sizes compile.Sizes, now map[int]compile.Row) (err error) {
	all := map[string]*compile.Ways{}
	if p.known != nil && p.known.HasWays() {
		all = p.known.TakeWays()
	}
	for _, dev := range model.Devices {
		if sizes.Prefixes[dev] == 0 {
			continue
		}
		if all[dev] == nil {
			if all[dev], err = compile.WaysOf(p.old, dev, sizes.Prefixes[dev], p.m.Changes.Interfaces); err != nil {
				return err
			}
		}
		w := &wayWriter{planner: p, dev: dev, ways: all[dev], stands: len(all[dev].Hops) > 0 || p.Target.Part != nil}
		w.changes = w.changed(p.Target)
		if dev == xfrm.Red {
			if err := w.toPolicies(sizes.Policies, now); err != nil {
				return err
			}
		}
		if err := w.all(w.changes); err != nil {
			return err
		}
		if err := w.apart(); err != nil {
			return err
		}
		p.Refused[dev] = slices.Concat(p.Target.NoWay[dev], w.refused)
	}
	p.Ways = all
	return nil
}

// toPolicies changes the trees of policies: of those by prefix, or of routes to XFRM interfaces.
func (w *wayWriter) toPolicies(size int, now map[int]compile.Row) error {
	switch {
	case w.Target.Steering != nil:
		return w.steered(size, now)
	case size == 0:
		return nil
	case w.m.Changes.Interfaces:
		w.unsteer(now)
		now = nil
	}
	return w.policies(size, now)
}

// wayWriter applies changes to the tree of a device.
type wayWriter struct {
	*planner
	dev     string
	ways    *compile.Ways
	stands  bool          // the tree has prefixes
	changes []compile.Way // of routes
	refused []netip.Prefix
	network int
	main    *wayWriter // that of network 0, of another one
}

// hops are the prefixes of the network's trees.
func (w *wayWriter) hops() map[netip.Prefix]prefixes.Hops {
	if w.network == 0 {
		return w.ways.Hops
	}
	return w.ways.Apart[w.network]
}

// changed are the ways that are others than those of the tree, those that go first. Of everything,
// prefixes without a way go too.
func (w *wayWriter) changed(t *compile.Target) (out []compile.Way) {
	if t.Part == nil {
		named := map[netip.Prefix]bool{}
		for _, way := range t.Ways[w.dev] {
			named[way.Prefix] = true
		}
		for p := range w.ways.Hops {
			if !named[p] {
				out = append(out, compile.Way{Route: prefixes.Route{Prefix: p}, Linux: true})
			}
		}
	}
	return append(out, w.moving(t.Ways[w.dev])...)
}

// moving are those of some ways that are others than those of the tree, those that go first.
func (w *wayWriter) moving(ways []compile.Way) (out []compile.Way) {
	have := w.hops()
	var come []compile.Way
	for _, way := range ways {
		switch {
		case way.Hops == have[way.Prefix]:
		case way.Hops == prefixes.Hops{}:
			out = append(out, way)
		default:
			come = append(come, way)
		}
	}
	return append(out, come...)
}

// all makes all changes at once if there is room, and else in parts: removals first, and routes
// that Linux may have to do without last.
func (w *wayWriter) all(changes []compile.Way) error {
	err := w.apply(changes)
	if !isFull(err) {
		return err
	}
	if !w.stands {
		// The tree of a daemon of before leaves no room for another one beside it. Packets go where
		// their SA or rule says until that one is there.
		w.clearRoutes()
	}
	slices.SortStableFunc(changes, func(a, b compile.Way) int { return cmp.Compare(turn(a), turn(b)) })
	return w.fit(changes)
}

func turn(way compile.Way) int {
	switch {
	case way.Hops == prefixes.Hops{}:
		return 0
	case way.Linux:
		return 2
	}
	return 1
}

// fit makes those of the changes for which there is room. A written route without room is an error.
func (w *wayWriter) fit(changes []compile.Way) error {
	err := w.apply(changes)
	switch {
	case !isFull(err):
		return err
	case len(changes) > 1:
		if err := w.fit(changes[:len(changes)/2]); err != nil {
			return err
		}
		return w.fit(changes[len(changes)/2:])
	case !changes[0].Linux && w.network != 0:
		return w.giveWay(changes[0])
	case !changes[0].Linux && w.emptyOther(-1, 0):
		return w.fit(changes)
	case !changes[0].Linux:
		return &compile.FullError{Err: xfrm.Errorf(xfrm.Pos{}, "no room for the route to %s: %v", changes[0].Prefix, err)}
	}
	w.refused = append(w.refused, changes[0].Prefix)
	// The way that it had leads elsewhere.
	return w.apply([]compile.Way{{Route: prefixes.Route{Prefix: changes[0].Prefix}}})
}

func (w *wayWriter) apply(changes []compile.Way) error {
	routes := make([]prefixes.Route, len(changes))
	for i, way := range changes {
		routes[i] = way.Route
	}
	writes, err := w.ways.Table.ApplyIn(w.network, routes)
	if err != nil {
		return err
	}
	w.write(PhaseInsert, writes)
	if w.hops() == nil {
		w.ways.Apart[w.network] = map[netip.Prefix]prefixes.Hops{}
	}
	hops := w.hops()
	for _, way := range changes {
		if delete(hops, way.Prefix); way.Hops != (prefixes.Hops{}) {
			hops[way.Prefix] = way.Hops
		}
	}
	if len(hops) == 0 && w.network != 0 {
		delete(w.ways.Apart, w.network)
	}
	return nil
}

func (w *wayWriter) write(in phase, writes prefixes.Writes) {
	for _, write := range writes {
		w.add(Write{Phase: in, Chip: chipOf[w.dev], Table: compile.TreeTable(w.dev, write.Table), Index: write.Index, Row: write.Row})
	}
}

func isFull(err error) bool {
	var full *prefixes.FullError
	return errors.As(err, &full)
}

// treeTables are those of the inner chip's trees.
var treeTables = []regs.Table{regs.InnerTablePrefix, regs.InnerTablePrefixChild, regs.InnerTablePrefixRoot, regs.InnerTableHopGroup}

// waysImage is what the tables of the trees hold in the end.
func (p *planner) waysImage() {
	names := map[string]bool{regs.InnerTablePrefixPolicy.Name: true}
	for _, dev := range model.Devices {
		for _, table := range treeTables {
			names[compile.TreeTable(dev, table).Name] = true
		}
	}
	rows := p.Image.Rows()
	for name := range names {
		*rows[name] = maps.Clone(*p.old.Rows()[name])
	}
	for _, w := range p.Writes {
		if names[w.Table.Name] {
			image := rows[w.Table.Name]
			if *image == nil {
				*image = map[int]compile.Row{}
			}
			if (*image)[w.Index] = w.Row; w.Row == nil {
				delete(*image, w.Index)
			}
		}
	}
}
