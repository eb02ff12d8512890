// SPDX-License-Identifier: Apache-2.0

package session

import (
	"maps"
	"time"

	"sallyport/mgmt/internal/hostroutes"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// NextHops are the hosts that rows of the chips need and that have no neighbour line: gateways of
// routes, and hosts on a port's network that an SA or a policy names alone. learned holds the
// addresses that the box has learned for some of them.
func (v *View) NextHops() (wanted []model.NextHop, learned map[model.NextHop]xfrm.MAC) {
	return v.hops, maps.Clone(v.model.Learned)
}

// HostRoom is how many hosts straight behind a port the box has room for, besides those that were
// written and the addresses of small routes: hashing fills a table to some 95 %.
func (s *Session) HostRoom(m *model.Model, dev string) int {
	chip := map[string]transport.Chip{xfrm.Red: transport.Inner, xfrm.Black: transport.Outer}[dev]
	rows := s.Box.Capabilities[chip].HostRows
	room := rows*15/16 - hostroutes.Rows(m, dev, rows)
	for _, own := range m.Insides() {
		for _, n := range own.Neighs {
			if n.Dev == dev {
				room--
			}
		}
	}
	return room
}

// Learn makes these the addresses of hosts, in place of those learned before. Neighbours that the
// administrator wrote come first.
func (s *Session) Learn(learned map[model.NextHop]xfrm.MAC) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	state, found, err := s.load()
	if err != nil || found.tables != tablesKnown || maps.Equal(learned, state.Model.Learned) {
		return err
	}
	state = state.Begin()
	state.Model.Learn(learned, state.Hops)
	return s.change(state, found)
}

// LearnPaths takes path MTUs that ICMP told, by the ages of outbound SAs, each for a time, and
// forgets those whose time is over (RFC 4301, 8.2). It gives the SAs whose path MTU is another, in
// the model of after.
func (s *Session) LearnPaths(told map[uint64]uint32, holds time.Duration) (changed []*model.SA, m *model.Model, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	state, found, err := s.load()
	if err != nil || found.tables != tablesKnown {
		return nil, nil, err
	}
	paths := state.Model.NewPaths(told, holds, s.now().Unix())
	if len(paths) == 0 {
		return nil, state.Model, nil
	}
	state = state.Begin()
	changed = state.Model.SetPaths(paths)
	return changed, state.Model, s.change(state, found)
}

// LearnRoutes takes routes behind a port that Linux has, or has no more. False while the chips do
// not hold the configuration: the routes are not taken then.
func (s *Session) LearnRoutes(dev string, changes []learned.Change) (taken bool, err error) {
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	state, found, err := s.load()
	if err != nil || found.tables != tablesKnown {
		return false, err
	}
	state = state.Begin()
	if !state.Model.LearnRoutes(dev, changes) {
		return true, nil
	}
	return true, s.change(state, found)
}
