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

// mostJournaled is how many SAs one journal of raised windows names: an end of the program loses
// no more than those.
const mostJournaled = 256

// Position is a sequence number of an SA.
type Position struct {
	xfrm.ID
	Number uint64
}

// raise is what an advance does to an SA.
type raise struct {
	sa     *model.SA
	number uint64
}

// Advance lets SAs go on from sequence numbers without a new key. An outbound SA sends only numbers
// above its own; an inbound one accepts only such. A number that the SA has passed changes nothing.
// Where one of the positions cannot be, none is taken. The box drops packets that an inbound SA
// receives meanwhile, for some microseconds.
func (s *Session) Advance(positions ...Position) error {
	return s.reading(func(state *store.State) error {
		v := s.viewOf(state)
		var plain, windows []raise
		for _, p := range positions {
			sa, ahead, windowed, err := v.ahead(p)
			switch {
			case err != nil:
				return err
			case ahead && windowed:
				windows = append(windows, raise{sa, p.Number})
			case ahead:
				plain = append(plain, raise{sa, p.Number})
			}
		}
		if err := s.writeNumbers(plain); err != nil {
			return err
		}
		for batch := range slices.Chunk(windows, mostJournaled) {
			if err := s.raiseWindows(state, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// ahead says whether a position is ahead of its SA, and whether the SA has a window on the chip.
func (v *View) ahead(p Position) (sa *model.SA, ahead, windowed bool, err error) {
	if sa, err = v.named(p.ID); err != nil {
		return nil, false, false, err
	}
	if err := sa.CheckNumber(p.Number, xfrm.Pos{}); err != nil {
		return nil, false, false, err
	}
	before, known, err := v.number(sa)
	if err == nil && !known && sa.ReplayWindow != 0 {
		err = xfrm.Errorf(xfrm.Pos{}, "no in or fwd policy names the inbound SA spi 0x%x yet: it has received nothing", sa.SPI)
	}
	return sa, !known || p.Number > before, known && sa.Way == xfrm.DirIn, err
}

// writeNumbers writes the rows from which the crypto chip counts, and infers high halves.
func (s *Session) writeNumbers(list []raise) error {
	rows := rowWriter{box: s.Box, alive: s.Alive}
	for _, r := range list {
		row := plan.Write{Chip: transport.Crypto, Table: compile.NumberTable(r.sa.Way), Index: r.sa.Row, Row: compile.NumberRow(r.number)}
		if err := rows.add(row); err != nil {
			return err
		}
	}
	return rows.flush()
}

// raiseWindows raises the numbers of inbound SAs, and presets their windows. With open ports a
// journal comes first: without room for it no row is written, and if the change is cut short these
// SAs are lost, and no other. With closed ports there is no packet that could meet half of a
// window, and the row that says how far it is comes last: so the same raise may come again, and
// nothing need be on the disk.
func (s *Session) raiseWindows(state *store.State, list []raise) error {
	if s.Closed {
		if err := s.writeNumbers(list); err != nil {
			return err
		}
		return s.presetWindows(list)
	}
	j := journal{Before: state.Generation, Generation: generation()}
	for _, r := range list {
		j.touch(r.sa.Way, r.sa.Row)
	}
	j.sort()
	if err := s.record(&j); err != nil {
		return err
	}
	defer s.published.writing.Store(0)
	if err := s.begin(&j); err != nil {
		return err
	}
	if err := s.writeNumbers(list); err != nil {
		return err
	}
	if err := s.writeSelectors(list, func(*model.SA) compile.Row { return nil }); err != nil {
		return err
	}
	if err := s.Box.Wait(plan.DrainTime); err != nil { // packets that an SA's row was looked up for
		return err
	}
	if err := s.presetWindows(list); err != nil {
		return err
	}
	err := s.writeSelectors(list, func(sa *model.SA) compile.Row {
		selector := slices.Clone(state.Image.Selector[sa.Row])
		regs.SelectorRow.WindowKeep.Put(selector, 1)
		return selector
	})
	if err != nil {
		return err
	}
	return s.mark(state.Generation)
}

// writeSelectors writes the rows by which SAs have their windows.
func (s *Session) writeSelectors(list []raise, row func(*model.SA) compile.Row) error {
	rows := rowWriter{box: s.Box, alive: s.Alive}
	for _, r := range list {
		if err := rows.add(plan.Write{Chip: transport.Inner, Table: regs.InnerTableSelector, Index: r.sa.Row, Row: row(r.sa)}); err != nil {
			return err
		}
	}
	return rows.flush()
}

// presetWindows writes the rows of windows, of each the last first: number reads the first.
func (s *Session) presetWindows(list []raise) error {
	rows := rowWriter{box: s.Box, alive: s.Alive}
	for _, r := range list {
		for number := len(r.sa.WindowRows) - 1; number >= 0; number-- {
			row := compile.PresetRow(r.number, number, len(r.sa.WindowRows))
			for half := 1; half >= 0; half-- {
				write := plan.Write{Chip: transport.Inner, Table: regs.InnerTableReplay, Index: 2*r.sa.WindowRows[number] + half, Row: row}
				if err := rows.add(write); err != nil {
					return err
				}
			}
		}
	}
	return rows.flush()
}
