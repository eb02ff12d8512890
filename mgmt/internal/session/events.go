// SPDX-License-Identifier: Apache-2.0

package session

import (
	"maps"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/store"
)

// source takes the box's events.
func (s *Session) source() *events.Source {
	if s.left == nil {
		s.left = map[string]uint64{}
	}
	return &events.Source{Box: s.Box, Now: s.now, Note: s.note, Left: s.left}
}

// Left has, by QueueNames, how often a queue had more events than are taken at a time.
func (s *Session) Left() map[string]uint64 { return maps.Clone(s.left) }

// Events takes the events of moved peers, of lifetimes and of sequence numbers. If it fails, it
// returns the events taken by then with the error.
func (s *Session) Events() (events []events.Event, err error) {
	err = s.reading(func(state *store.State) (err error) {
		events, err = s.source().Events(state.Model)
		return err
	})
	return events, err
}

// Audit takes the events of packets of inbound SAs that were dropped for their ICV, their number or
// their selectors, in the order of their times.
func (s *Session) Audit() (events []events.Event, err error) {
	err = s.reading(func(state *store.State) (err error) {
		events, err = s.source().Audit(state.Model)
		return err
	})
	return events, err
}

// reading locks the configuration, so that no other takes events or moves SAs, and gives it to
// `use`, which changes nothing.
func (s *Session) reading(use func(*store.State) error) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	state, _, err := s.load()
	if err != nil {
		return err
	}
	return use(state)
}
