// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"iter"
	"slices"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Rewriting says how Rewrite takes rows.
type Rewriting int

const (
	// RewriteWrong reads rows, and writes those that the chip has otherwise than the configuration.
	RewriteWrong Rewriting = iota
	// RewriteAll writes all rows: check bits that are wrong cannot be read.
	RewriteAll
)

// Rewritten is what a call of Rewrite did.
type Rewritten struct {
	// Held is false if the chips do not hold the configuration, or were reset meanwhile: none of
	// the rows is on them then.
	Held bool
	// Wrong is how many of the rows that were read the chip had otherwise.
	Wrong int
	// Written is how many rows were written.
	Written int
}

// Rewrite brings `count` rows of a table, from row `from` on, to what the configuration says, under
// traffic. No look-up notices a row that is written as it was, but fragments that wait behind
// decryption are dropped. Windows, sequence numbers and counts stay as they are.
//
// Rules are read and written always, since software reads a copy of them alone. A rule whose
// copy is wrong matches nothing while it is written, so no port receives then, and a millisecond
// before.
func (s *Session) Rewrite(t plan.Lookup, from, count int, how Rewriting) (out Rewritten, err error) {
	unlock, err := s.lock()
	if err != nil {
		return out, err
	}
	defer unlock()
	state, found, err := s.compare()
	if err != nil || found.tables != tablesKnown {
		return out, err
	}
	right, wrong := rowsOf(t, state.Image, from, count), []chip.Row(nil)
	rules := t.IsRules()
	if how == RewriteWrong || rules {
		if right, wrong, err = s.divide(t, right); err != nil {
			return out, err
		}
		out.Wrong = len(wrong)
	}
	switch {
	case rules && len(wrong) > 0:
		err = s.atRest(func() error { return s.Box.WriteRows(wrong) })
	case how == RewriteWrong && !rules:
		right, wrong = wrong, nil
	}
	for piece := range slices.Chunk(right, chip.MostRows) {
		if err == nil {
			err = s.Box.WriteRows(piece)
		}
	}
	if err == nil {
		out.Written = len(right) + len(wrong)
		out.Held, err = s.unlessReset(t, state.Generation, from, count)
	}
	return out, err
}

// rowsOf are rows as an image has them. A selector row says that its window is to be kept.
func rowsOf(t plan.Lookup, i *compile.Image, from, count int) []chip.Row {
	rows := make([]chip.Row, count)
	for n := range rows {
		row := t.Row(i, t.Index(from+n))
		if t.Table == regs.InnerTableSelector {
			keepWindow(row)
		}
		rows[n] = chip.Row{Chip: t.Chip, Table: t.Table, Index: t.Index(from + n), Words: row}
	}
	return rows
}

func keepWindow(row compile.Row) {
	if regs.SelectorRow.Valid.Get(row) == 1 {
		regs.SelectorRow.WindowKeep.Put(row, 1)
	}
}

// divide tells the rows that a chip has as they should be from those that it has otherwise.
func (s *Session) divide(t plan.Lookup, rows []chip.Row) (right, wrong []chip.Row, err error) {
	for piece := range together(rows) {
		read, err := s.Box.ReadRows(t.Chip, t.Table, piece[0].Index, len(piece))
		if err != nil {
			return nil, nil, err
		}
		for i, row := range piece {
			if t.Table == regs.InnerTableSelector {
				keepWindow(read[i]) // how it was written last is no difference
			}
			if slices.Equal(read[i], row.Words) {
				right = append(right, row)
			} else {
				wrong = append(wrong, row)
			}
		}
	}
	return right, wrong, nil
}

// together gives rows in pieces whose indices follow each other.
func together(rows []chip.Row) iter.Seq[[]chip.Row] {
	return func(yield func([]chip.Row) bool) {
		for len(rows) > 0 {
			n := 1
			for n < min(len(rows), chip.MostRows) && rows[n].Index == rows[0].Index+n {
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// atRest does something while no port receives, and no packet is on its way. After a kill in here
// the next daemon opens the ports.
func (s *Session) atRest(do func() error) error {
	before, err := s.stopReceiving()
	if err != nil {
		return err
	}
	return errors.Join(do(), s.Box.WriteAll(before...))
}

// unlessReset says whether the chip of a table still has the configuration of a generation. If an
// interface chip was reset while rows were written, it stops that chip's port, and clears those
// rows: none may wait there for the next configuration.
func (s *Session) unlessReset(t plan.Lookup, generation uint32, from, count int) (bool, error) {
	marks, _, err := s.marks()
	if err != nil {
		return false, err
	}
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		if marks[c] != generation {
			if err := s.Box.Write32(c, controls[c], 0); err != nil {
				return false, err
			}
		}
	}
	if marks[t.Chip] == generation {
		return true, nil
	}
	empty := make([]chip.Row, count)
	for i := range empty {
		empty[i] = chip.Row{Chip: t.Chip, Table: t.Table, Index: t.Index(from + i)}
	}
	return false, s.Box.WriteRows(empty)
}
