// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Links are the links between the chips, by the name of the one beside the crypto chip, and whether
// they are up.
type Links map[string]bool

// AllUp is what they are in a box that works.
func AllUp() Links { return Links{transport.Inner.String(): true, transport.Outer.String(): true} }

// ReadLinks reads them off the crypto chip.
func ReadLinks(b *chip.Box) (Links, error) {
	status, err := b.Read32(transport.Crypto, regs.CommonStatus)
	row := []uint32{status}
	return Links{
		transport.Inner.String(): regs.CommonStatusLinkUp.Get(row) == 1,
		transport.Outer.String(): regs.CommonStatusBlackLinkUp.Get(row) == 1,
	}, err
}

// LinkEvents are the changes from one state to another.
func (l Links) LinkEvents(now Links) (events []Event) {
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		if name, up := c.String(), now[c.String()]; up != l[name] {
			events = append(events, Event{Kind: EventLink, Link: name, Up: &up})
		}
	}
	return events
}
