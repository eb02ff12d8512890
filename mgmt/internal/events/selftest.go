// SPDX-License-Identifier: Apache-2.0

package events

import (
	"slices"

	"sallyport/mgmt/internal/chip"
)

// SelfTestEvents are the changes from one state of the lanes to another: of each lane that has left
// service, and of each that has returned.
func SelfTestEvents(before, now chip.SelfTest) (events []Event) {
	was := before.Paths()
	for i, path := range now.Paths() {
		for lane := range now.Lanes {
			ok := !slices.Contains(path.Failed, lane)
			if ok != !slices.Contains(was[i].Failed, lane) {
				events = append(events, Event{Kind: EventSelfTest, Path: path.Name, Lane: &lane, OK: &ok})
			}
		}
	}
	return events
}
