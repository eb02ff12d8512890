// SPDX-License-Identifier: Apache-2.0

package session

import (
	"maps"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// NextHops are the hosts that rows of the chips need and that have no neighbour line: gateways of
// routes, and hosts on a port's network that an SA or a policy names alone. learned holds the
// addresses that the box has learned for some of them.
func (v *View) NextHops() (wanted []model.NextHop, learned map[model.NextHop]xfrm.MAC) {
	return v.hops, maps.Clone(v.model.Learned)
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
	state.Model.Learned, state.Model.Changes.Network = learned, true
	return s.change(state, found)
}
