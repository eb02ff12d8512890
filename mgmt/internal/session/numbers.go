// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/store"
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

// Advance lets an SA go on from a sequence number without a new key. An outbound SA sends only
// numbers above it; an inbound one accepts only such. A number that the SA has passed changes
// nothing. The box drops packets that an inbound SA receives meanwhile, for some microseconds.
func (s *Session) Advance(id xfrm.ID, number uint64) error {
	return s.reading(func(state *store.State) error {
		v := s.viewOf(state)
		sa, err := v.named(id)
		if err != nil {
			return err
		}
		if err := sa.CheckNumber(number, xfrm.Pos{}); err != nil {
			return err
		}
		before, known, err := v.number(sa)
		switch {
		case err != nil:
			return err
		case !known && sa.ReplayWindow != 0:
			return xfrm.Errorf(xfrm.Pos{}, "no in or fwd policy names the inbound SA spi 0x%x yet: it has received nothing", sa.SPI)
		case known && number <= before:
			return nil
		}
		if !known || sa.Way == xfrm.DirOut {
			return s.writeNumber(sa, number)
		}
		return s.advanceWindow(state, sa, number)
	})
}

func (s *Session) writeNumber(sa *model.SA, number uint64) error {
	return s.Box.WriteRow(transport.Crypto, compile.NumberTable(sa.Way), sa.Row, compile.NumberRow(number))
}

// advanceWindow raises the number of an SA that may be under traffic, and presets its window. The
// journal comes first: without room for it no row is written. If the change is cut short this SA
// is lost, and no other.
func (s *Session) advanceWindow(state *store.State, sa *model.SA, number uint64) error {
	j := journal{Before: state.Generation, Generation: generation()}
	j.touch(sa.Way, sa.Row)
	if err := s.record(&j); err != nil {
		return err
	}
	defer s.published.writing.Store(0)
	if err := s.begin(&j); err != nil {
		return err
	}
	if err := s.writeNumber(sa, number); err != nil {
		return err
	}
	selector := slices.Clone(state.Image.Selector[sa.Row])
	if err := s.presetWindow(sa, selector, number); err != nil {
		return err
	}
	return s.mark(state.Generation)
}

// presetWindow writes the rows of a window. The selector row of its SA lets go of it meanwhile.
func (s *Session) presetWindow(sa *model.SA, selector compile.Row, top uint64) error {
	if err := s.Box.WriteRow(transport.Inner, regs.InnerTableSelector, sa.Row, nil); err != nil {
		return err
	}
	if !s.Closed { // else there are no packets that its row was looked up for
		if err := s.Box.Wait(plan.DrainTime); err != nil {
			return err
		}
	}
	for number, window := range sa.WindowRows {
		row := compile.PresetRow(top, number, len(sa.WindowRows))
		for half := range 2 {
			if err := s.Box.WriteRow(transport.Inner, regs.InnerTableReplay, 2*window+half, row); err != nil {
				return err
			}
		}
	}
	regs.SelectorRow.WindowKeep.Put(selector, 1)
	return s.Box.WriteRow(transport.Inner, regs.InnerTableSelector, sa.Row, selector)
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
			out = append(out, Number{Directed{sa.ID, sa.Way}, value, sa.MostNumber()})
		}
	}
	return out, nil
}
