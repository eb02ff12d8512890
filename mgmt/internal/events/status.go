// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/transport"
)

// Statuses are what the chips say of themselves.
type Statuses [3]chip.Health

// AllWell is what they say in a box that works.
func AllWell() (s Statuses) {
	for _, c := range transport.Chips {
		s[c].Ready = true
	}
	return s
}

// ReadStatuses reads them off the chips.
func ReadStatuses(b *chip.Box) (s Statuses, err error) {
	for _, c := range transport.Chips {
		if s[c], err = b.Health(c); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Events are the changes from one state to another: of the tamper input and of readiness.
func (s Statuses) Events(now Statuses) (events []Event) {
	for _, c := range transport.Chips {
		if tamper := now[c].Tamper; tamper != s[c].Tamper {
			quiet := !tamper
			events = append(events, Event{Kind: EventTamper, Chip: c.String(), OK: &quiet})
		}
		if ready := now[c].Ready; ready != s[c].Ready {
			events = append(events, Event{Kind: EventReady, Chip: c.String(), OK: &ready})
		}
	}
	return events
}
