// SPDX-License-Identifier: Apache-2.0

// Package upsets repairs rows of the chips' look-up tables that have a flipped bit. It writes a
// table anew when its chip counts look-ups that met such a row, and compares all tables with the
// configuration slowly.
package upsets

import (
	"slices"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

const (
	// AccessesToWrite are the accesses of registers by which one Step writes rows at most: 455 rows
	// of flow, so that 64 Ki take 145 steps.
	AccessesToWrite = 8192
	// AccessesToCompare are those by which one Step reads rows at most to compare them.
	AccessesToCompare = 2048
	// Round is the time in which each row of each table is compared once.
	Round = 10 * time.Minute
	// tellAgain is how long no further upset of a table is told.
	tellAgain = 10 * time.Second
)

// Watch is the watch over a session's tables. A caller has the session's lock.
type Watch struct {
	session *session.Session
	tables  []table
	counted [3][]regs.Counter // of look-ups that met a flipped bit
	last    int               // the table whose rows were written last
	compare struct {          // the row to be compared next
		table, row int
		since      time.Time
	}
}

// table is a table with its state.
type table struct {
	plan.Lookup
	state State
	met   map[string]uint64 // how many look-ups met a flipped bit, as each counter said last
	row   int               // to be written next
	left  int               // rows until each was written since the last such one; 0: none is to be
	told  time.Time
	tells bool // the end is to be told
}

// State is how a table fares, since the daemon started.
type State struct {
	Chip, Table string
	// Upset says that its rows are being written, because a look-up met a flipped bit.
	Upset bool
	// Wrong are rows that were found to be otherwise than the configuration, Written those
	// written anew.
	Wrong, Written uint64
}

// New makes the watch of a session.
func New(s *session.Session) *Watch {
	w := &Watch{session: s}
	for _, t := range plan.Lookups(&s.Box.Capabilities) {
		w.tables = append(w.tables, table{Lookup: t, met: map[string]uint64{}, state: State{Chip: t.Chip.String(), Table: t.Table.Name}})
	}
	for c, list := range chip.CounterList {
		for _, counter := range list {
			if len(w.tablesOf(transport.Chip(c), counter)) > 0 {
				w.counted[c] = append(w.counted[c], counter)
			}
		}
	}
	return w
}

// tablesOf are the tables whose flipped bits a counter counts: one, or all of the trees of
// prefixes.
func (w *Watch) tablesOf(c transport.Chip, counter regs.Counter) (out []*table) {
	for i := range w.tables {
		t := &w.tables[i]
		if t.Chip == c && slices.Contains(t.Counters(), counter.Name) {
			out = append(out, t)
		}
	}
	return out
}

// rowsIn is how many rows so many accesses read or write. Rules are read and written always.
func (t *table) rowsIn(accesses int) int {
	const window = 4 // accesses besides those of the row's words
	each := t.Table.Words() + window
	if t.IsRules() {
		each *= 2
	}
	return accesses / each
}

// States are those of all tables.
func (w *Watch) States() []State {
	out := make([]State, len(w.tables))
	for i, t := range w.tables {
		out[i] = t.state
	}
	return out
}

// Step reads the counters, writes some rows of one table, and compares some of another. It gives
// the events to tell, also beside an error.
func (w *Watch) Step(now time.Time) (told []events.Event, err error) {
	tell := func(t *table, mended bool) {
		told = append(told, events.Event{Kind: events.EventUpset, Chip: t.state.Chip, Table: t.state.Table, OK: &mended})
	}
	if err := w.count(now, tell); err != nil {
		return told, err
	}
	for i := range w.tables {
		if at := (w.last + 1 + i) % len(w.tables); w.tables[at].left > 0 {
			w.last = at
			if err := w.write(&w.tables[at], tell); err != nil {
				return told, err
			}
			break
		}
	}
	err = w.compareSome(now, tell)
	return told, err
}

// count begins to write the tables whose counter has risen. One that rises meanwhile may be of
// a row that was written before the bit flipped, so that all rows are to be written from there on.
// A counter that does not stand at 0 at the first step counts as risen.
func (w *Watch) count(now time.Time, tell func(*table, bool)) error {
	for _, c := range transport.Chips {
		if len(w.counted[c]) == 0 {
			continue
		}
		values, err := w.session.Box.CountersOf(c, w.counted[c])
		if err != nil {
			return err
		}
		for i, counter := range w.counted[c] {
			for _, t := range w.tablesOf(c, counter) {
				if values[i] > t.met[counter.Name] {
					t.left = t.Rows
					t.state.Upset = true
					w.tellOf(t, now, tell)
				}
				t.met[counter.Name] = values[i]
			}
		}
	}
	return nil
}

// tellOf tells of an upset, unless one of the same table was told just now.
func (w *Watch) tellOf(t *table, now time.Time, tell func(*table, bool)) {
	if !t.tells && (t.told.IsZero() || now.Sub(t.told) >= tellAgain) {
		tell(t, false)
		t.told, t.tells = now, true
	}
}

// write writes some rows of a table anew.
func (w *Watch) write(t *table, tell func(*table, bool)) error {
	count := min(t.left, t.rowsIn(AccessesToWrite), t.Rows-t.row)
	done, err := w.session.Rewrite(t.Lookup, t.row, count, session.RewriteAll)
	if err != nil || !done.Held {
		return err
	}
	t.state.Wrong += uint64(done.Wrong)
	t.state.Written += uint64(done.Written)
	t.row, t.left = (t.row+count)%t.Rows, t.left-count
	if t.left > 0 {
		return nil
	}
	t.state.Upset = false
	if t.tells {
		tell(t, true)
		t.tells = false
	}
	return nil
}

// compareSome compares the rows that are due, at most to the end of a table, and writes the
// wrong ones.
func (w *Watch) compareSome(now time.Time, tell func(*table, bool)) error {
	at, total := &w.compare, 0
	for _, t := range w.tables {
		total += t.Rows
	}
	if at.since.IsZero() || now.Before(at.since) {
		at.since = now
	}
	due := int(min(now.Sub(at.since), Round) * time.Duration(total) / Round)
	if due == 0 {
		return nil
	}
	at.since = now
	t := &w.tables[at.table]
	count := min(due, t.rowsIn(AccessesToCompare), t.Rows-at.row)
	done, err := w.session.Rewrite(t.Lookup, at.row, count, session.RewriteWrong)
	if err != nil || !done.Held {
		return err
	}
	t.state.Wrong += uint64(done.Wrong)
	t.state.Written += uint64(done.Written)
	if done.Wrong > 0 {
		if w.tellOf(t, now, tell); t.tells {
			tell(t, true)
			t.tells = false
		}
	}
	if at.row += count; at.row == t.Rows {
		at.table, at.row = (at.table+1)%len(w.tables), 0
	}
	return nil
}
