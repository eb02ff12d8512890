// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/xfrm"
)

// turns are the networks whose trees change, those whose trees shrink first.
func (s *steerStep) turns(want map[int]steer.Tree) []int {
	grows := map[int]int{}
	for network, tree := range want {
		if grows[network] = len(tree); s.Target.Part == nil {
			grows[network] -= len(s.ways.Table.Policies(network))
		}
	}
	return slices.SortedFunc(maps.Keys(grows), func(a, b int) int { return cmp.Or(cmp.Compare(grows[a], grows[b]), cmp.Compare(b, a)) })
}

// tree leads prefixes to the rows of their leads. Linux's routes give way to it ([steerStep.room]).
// If there is no room all the same, and Linux has given some of its prefixes, it leads nowhere
// until there is room for all of them.
func (s *steerStep) tree(want steer.Tree) error {
	if s.emptied(s.to) {
		return nil // it has given way to another one
	}
	var gone, come []fork
	if s.Target.Part == nil {
		for p := range s.ways.Table.Policies(s.to) {
			if _, stays := want[p]; !stays {
				gone = append(gone, fork{Prefix: p})
			}
		}
	}
	for p, entry := range want {
		f := s.forkOf(p, entry)
		switch {
		case int(f.Row) == s.ways.Table.PolicyOf(s.to, p):
		case f.Row == 0:
			gone = append(gone, f)
		default:
			come = append(come, f)
		}
	}
	err := s.plant(gone, come)
	if isFull(err) && s.Target.Part == nil {
		// The tree anew, without the nodes of the old one beside it, may have room.
		s.Shut = s.Shut || s.to == 0
		s.write(PhaseInsert, s.ways.Table.ClearPolicies(s.to))
		gone, come = nil, nil
		for p, entry := range want {
			if f := s.forkOf(p, entry); f.Row != 0 {
				come = append(come, f)
			}
		}
		err = s.plant(gone, come)
	}
	for isFull(err) && s.room() {
		err = s.plant(gone, come)
	}
	if !isFull(err) {
		return err
	}
	// Else a written route would be in force, or not, as Linux's routes come and go.
	if !s.m.Changes.Asked && s.empty(s.to) {
		return nil
	}
	return &compile.FullError{Err: xfrm.Errorf(xfrm.Pos{}, "no room for the routes to XFRM interfaces: %v", err)}
}

// room has something of Linux give way to the tree. False if there is nothing. To written routes
// everything of Linux gives way: routes of ports, and then the trees of routes to interfaces of
// other networks that Linux has given prefixes of. To a tree that Linux has a part in, the ports'
// routes of its own network give way, and else those of networks that have more of them than it has
// routes: one with fewer routes never gives way to one with more.
func (s *steerStep) room() bool {
	set, own := s.steering(s.to)
	if s.inVain(set) {
		return false
	}
	linux := own.InTree() + own.Refused()
	routes := policyStep{wayWriter: s.wayWriter}
	zero := s.to == 0 || !s.stands || len(s.ways.Hops) > linux
	return zero && routes.giveWayZero() || s.giveWayApart(s.to, linux) || s.emptyOther(s.to, linux)
}

// inVain says whether a tree that found no room is tried again as it was: what gave way then came
// back, and would go for nothing. One that has lost a route of Linux may fit.
func (s *steerStep) inVain(set string) bool {
	for _, route := range s.m.Changes.Routes[set] {
		if route == nil {
			return false
		}
	}
	return s.m.Changes.Closed[set]
}

// steering are Linux's routes that steer packets of a network, and the name of their set; empty: it
// has no interface. Its tree has policies by prefix then, which give way to nothing.
func (w *wayWriter) steering(network int) (set string, routes *learned.Routes) {
	if vrf := w.nameOf(network); (vrf != "" || network == 0) && len(w.m.InterfacesOf(vrf)) > 0 {
		set = w.m.SteeringSet(vrf)
	}
	if routes = w.m.FromLinux[set]; routes == nil {
		routes = learned.New()
	}
	return set, routes
}

// emptied says whether the tree of a network has been emptied by this change.
func (w *wayWriter) emptied(network int) bool {
	set, _ := w.steering(network)
	return set != "" && len(w.Refused[set]) > 0
}

// empty takes the tree of routes to interfaces of a network from the chip, and refuses a route of
// Linux, so that it stays so until there is room for all. False if Linux has given none of its
// prefixes.
func (w *wayWriter) empty(network int) bool {
	set, routes := w.steering(network)
	for r := range routes.All() {
		if r.OnChip() && learned.Treeable(r.Prefix) {
			w.Refused[set] = append(w.Refused[set], r.Prefix)
			w.Shut = w.Shut || network == 0
			w.write(PhaseInsert, w.ways.Table.ClearPolicies(network))
			return true
		}
	}
	return false
}

// emptyOther empties the tree with most routes of Linux, if those are more than so many, but for
// that of one network. False if there is none.
func (w *wayWriter) emptyOther(but, than int) bool {
	networks := []int{0}
	for _, v := range w.m.VRFs {
		networks = append(networks, v.Number)
	}
	best := -1
	for _, network := range networks {
		_, routes := w.steering(network)
		if network != but && routes.InTree() > than && !w.emptied(network) && w.ways.Table.HasPolicies(network) {
			best, than = network, routes.InTree()
		}
	}
	return best >= 0 && w.dev == xfrm.Red && w.empty(best)
}

// giveWayApart takes all routes of Linux out of the port's trees of one VRF: of a network's own, or
// of the one with most routes, if those are more than so many. False if there are none.
func (w *wayWriter) giveWayApart(own, than int) bool {
	insides := w.m.Insides()
	count := func(network int) int {
		switch in := insides[network]; {
		case network == own || in == nil: // the VRF is gone
			return int(^uint(0) >> 1)
		default:
			return in.FromLinux[xfrm.Red].InTree()
		}
	}
	networks := slices.SortedFunc(maps.Keys(w.ways.Apart), func(a, b int) int { return cmp.Or(cmp.Compare(count(b), count(a)), cmp.Compare(a, b)) })
	for _, network := range networks {
		if count(network) > than && w.of(network).leave(insides[network]) {
			return true
		}
	}
	return false
}
