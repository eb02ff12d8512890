// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"slices"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// tables says what the chips' tables hold.
type tables int

const (
	tablesKnown   tables = iota // what the state file says
	tablesEmpty                 // nothing: the box was reset
	tablesCut                   // a part of a change from what the state file says
	tablesUnknown               // anything
)

// comparison is what the marks in the chips' SCRATCH registers say.
type comparison struct {
	tables  tables
	journal *journal // of a change that was cut short
}

// compare reads the state file, unless that is known, and holds it against the chips.
func (s *Session) compare() (state *store.State, found comparison, err error) {
	if state = s.kept; state == nil {
		if state, err = s.store.Load(); err != nil {
			return nil, found, err
		}
	}
	if s.held != nil {
		s.kept = state
	}
	marks, enabled, err := s.marks()
	if err != nil {
		return nil, found, err
	}
	same, reset := state.Generation != 0 && enabled, true
	for _, mark := range marks {
		same = same && mark == state.Generation
		reset = reset && mark == 0
	}
	if same {
		s.publish(state)
		return state, comparison{tables: tablesKnown}, nil
	}
	s.publish(nil)
	switch {
	case reset:
		return state, comparison{tables: tablesEmpty}, nil
	}
	j, err := s.interrupted(state.Generation)
	if err != nil || j == nil || state.Generation == 0 || !enabled {
		return state, comparison{tables: tablesUnknown}, err
	}
	for _, mark := range marks {
		if mark != j.Generation && mark != j.Before && !slices.Contains(j.Earlier, mark) {
			return state, comparison{tables: tablesUnknown}, nil
		}
	}
	return state, comparison{tablesCut, j}, nil
}

// load is compare for those who go on from what it finds: an empty configuration where the file
// says nothing of the tables.
func (s *Session) load() (*store.State, comparison, error) {
	state, found, err := s.compare()
	if err != nil {
		return nil, found, err
	}
	switch {
	case found.tables == tablesKnown:
		return state, found, nil
	case found.tables == tablesCut:
		s.note("a change was cut short: this is the configuration of before, which the next change restores first")
		return state, found, nil
	case found.tables == tablesEmpty && state.Generation != 0:
		s.note("the box was reset since %s was written: starting from an empty configuration", s.StatePath)
	case found.tables == tablesUnknown:
		s.note("the tables do not agree with %s (a chip was reset, the keys were erased, or a first change did not finish): starting from an empty configuration", s.StatePath)
	}
	return store.NewState(), found, nil
}

// undone is what load gives once a change that was cut short is undone.
func (s *Session) undone(state *store.State, found comparison) (*store.State, comparison, error) {
	err := s.undo(state, found, func(lost []xfrm.ID) {
		for _, id := range lost {
			s.note("the SA dst %s proto %s spi 0x%x is lost with the change that was cut short", id.Dst, id.Proto, id.SPI)
		}
	})
	if err != nil {
		return nil, found, err
	}
	return s.load()
}

// writeMarked is write, behind begin of the same generation. ErrErased if the crypto chip has
// erased its keys since its mark was compared.
func (s *Session) writeMarked(state *store.State, plan *plan.Plan, tables tables, generation uint32) error {
	if tables == tablesKnown || tables == tablesCut {
		// Nothing has enabled the chip since, so that it still is shows that it has its keys. From
		// here on its mark shows that.
		if err := s.checkMark(generation); err != nil {
			return err
		}
	}
	err := s.write(state, plan, tables, generation)
	if err == nil {
		return s.checkMark(generation)
	}
	// It may not be enabled yet.
	if mark, unread := s.Box.Read32(transport.Crypto, regs.CommonScratch); unread == nil && mark != generation {
		return chip.ErrErased
	}
	return fmt.Errorf("%w (the change did not finish; the next one undoes it first)", err)
}

// checkMark gives ErrErased unless the crypto chip has its keys and this mark.
func (s *Session) checkMark(generation uint32) error {
	marks, enabled, err := s.marks()
	if err == nil && (!enabled || marks[transport.Crypto] != generation) {
		err = chip.ErrErased
	}
	return err
}
