// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// number reads the last number that an outbound SA used, or the highest that an inbound one
// received, which is known if it has a window on the chip.
func (v *View) number(sa *model.SA) (number uint64, known bool, err error) {
	switch {
	case sa.Fresh:
		return 0, false, nil
	case sa.Way == xfrm.DirOut:
		row, err := v.box.ReadRow(transport.Crypto, regs.CryptoTableOutboundNumber, sa.Row)
		if err != nil {
			return 0, false, err
		}
		return regs.OutboundNumberRow.Last.Get(row), true, nil
	case !sa.Started || len(sa.WindowRows) == 0:
		return 0, false, nil
	}
	row, err := v.box.ReadRow(transport.Inner, regs.InnerTableReplay, 2*sa.WindowRows[0])
	if err != nil {
		return 0, false, err
	}
	return regs.ReplayRow.Top.Get(row), true, nil
}

// LastNumber is the last sequence number that an outbound SA used.
func (v *View) LastNumber(sa *model.SA) (uint64, error) {
	number, _, err := v.number(sa)
	return number, err
}

// Directed is an SA and its direction.
type Directed struct {
	xfrm.ID
	Way xfrm.Dir
}

// SAs are those that are configured.
func (v *View) SAs() (out []Directed) {
	for sa := range v.model.SAs.All() {
		out = append(out, Directed{sa.ID, sa.Way})
	}
	return out
}

// Number is where an SA is in its sequence numbers.
type Number struct {
	Directed
	Value uint64
	// Most is the highest that it can have.
	Most uint64
	// Step is how far it rises with each packet that this box sends; 1 of inbound SAs.
	Step uint64
}

// Numbers reads the sequence numbers of all SAs, except inbound SAs without a window, whose numbers
// no chip shows.
func (v *View) Numbers() (out []Number, err error) {
	for sa := range v.model.SAs.All() {
		value, known, err := v.number(sa)
		if err != nil {
			return nil, err
		}
		if known {
			out = append(out, Number{Directed{sa.ID, sa.Way}, value, sa.MostNumber(), 1 << sa.Node.Bits()})
		}
	}
	return out, nil
}
