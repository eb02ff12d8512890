// SPDX-License-Identifier: Apache-2.0

package events

import (
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/model"
)

// Source takes a box's events off its chips.
type Source struct {
	Box *chip.Box
	// Now is the clock of the audit log.
	Now func() time.Time
	// Note takes notes beside the events, a sentence at a time.
	Note func(format string, args ...any)
	// Left has, by QueueNames, how often a queue had more events than are taken at a time.
	Left map[string]uint64
}

// Events takes the events of moved peers, of lifetimes and of sequence numbers. If it fails, it
// returns the events taken by then with the error.
func (s *Source) Events(m *model.Model) (events []Event, err error) {
	found := func(e Event) { events = append(events, e) }
	if err := s.moved(m, found); err != nil {
		return events, err
	}
	if err := s.exhausted(m, found); err != nil {
		return events, err
	}
	return events, s.lifetimes(m, found)
}
