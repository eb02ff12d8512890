// SPDX-License-Identifier: Apache-2.0

package upsets_test

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/upsets"
	"sallyport/mgmt/internal/xfrm"
)

// rig is a fake box with a configuration, and the watch over it.
type rig struct {
	*testbox.Rig
	session *session.Session
	watch   *upsets.Watch
	now     time.Time
	told    []string
}

func newRig(t *testing.T, sizes fakebox.Sizes, batch string) *rig {
	t.Helper()
	r := &rig{Rig: testbox.New(t, sizes), now: time.Unix(1000, 0)}
	r.Must(batch)
	r.session = &session.Session{Box: r.Open(), StatePath: r.State, Out: io.Discard, Notes: io.Discard}
	if err := r.session.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.session.Release() })
	r.watch = upsets.New(r.session)
	r.Fake.Log, r.Fake.Waits = nil, nil
	return r
}

// change is one of the session that is held.
func (r *rig) change(batch string) {
	r.T.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(batch))
	if err == nil {
		err = r.session.Run(commands)
	}
	if err != nil {
		r.T.Fatal(err)
	}
}

// step lets time pass, and gives how many accesses the step took.
func (r *rig) step(passed time.Duration) int {
	r.T.Helper()
	r.now = r.now.Add(passed)
	before := r.Fake.Accesses
	told, err := r.watch.Step(r.now)
	if err != nil {
		r.T.Fatal(err)
	}
	for _, e := range told {
		r.told = append(r.told, e.String())
	}
	return r.Fake.Accesses - before
}

// steps takes steps in which no rows are due to be compared, until one of them tells the last of
// some events.
func (r *rig) steps(most int, want ...string) {
	r.T.Helper()
	for range most {
		if len(r.told) >= len(want) {
			break
		}
		r.step(0)
	}
	r.same("events", r.told, want)
	r.told = nil
}

func (r *rig) same(what string, got, want any) {
	r.T.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.T.Errorf("%s: %v, want %v", what, got, want)
	}
}

// written checks that rows of one table alone were written.
func (r *rig) written(t plan.Lookup) {
	r.T.Helper()
	for _, row := range r.Fake.Log {
		if row.Chip != t.Chip || row.Table != t.Table.Name {
			r.T.Fatalf("%s row %d was written", row.Table, row.Index)
		}
	}
}

// count is the counter of look-ups that met a flipped bit.
func (r *rig) count(t plan.Lookup) uint64 {
	r.T.Helper()
	i := slices.IndexFunc(counters[t.Chip], func(c regs.Counter) bool { return c.Name == t.Table.Name+"_row_upset" })
	values, err := r.session.Box.CountersOf(t.Chip, counters[t.Chip][i:i+1])
	if err != nil {
		r.T.Fatal(err)
	}
	return values[0]
}

var counters = [3][]regs.Counter{regs.InnerCounters, regs.CryptoCounters, regs.OuterCounters}

// lookup is a table of the box.
func (r *rig) lookup(c transport.Chip, table regs.Table) plan.Lookup {
	r.T.Helper()
	for _, t := range plan.Lookups(&r.session.Box.Capabilities) {
		if t.Chip == c && t.Table == table {
			return t
		}
	}
	r.T.Fatalf("no table %s", table.Name)
	return plan.Lookup{}
}

// used is a row that is not empty.
func (r *rig) used(t plan.Lookup) int {
	r.T.Helper()
	least := -1
	for index := range r.Fake.Table(t.Chip, t.Table) {
		if least < 0 || index < least {
			least = index
		}
	}
	if least < 0 {
		r.T.Fatalf("table %s is empty", t.Table.Name)
	}
	return least
}

// empty is a row that is.
func (r *rig) empty(t plan.Lookup) int {
	for index := range t.Rows {
		if r.Fake.Table(t.Chip, t.Table)[index] == nil {
			return index
		}
	}
	r.T.Fatalf("table %s is full", t.Table.Name)
	return 0
}

// Events of a table.
func begins(t plan.Lookup) string {
	return fmt.Sprintf("Upset: a flipped bit in table %s of the %s chip", t.Table.Name, t.Chip)
}

func ends(t plan.Lookup) string {
	return fmt.Sprintf("Rewritten: table %s of the %s chip", t.Table.Name, t.Chip)
}
