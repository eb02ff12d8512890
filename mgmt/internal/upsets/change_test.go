// SPDX-License-Identifier: Apache-2.0

package upsets_test

import (
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestChangeInAPass: a change between two steps leaves the tables as without flipped bits.
func TestChangeInAPass(t *testing.T) {
	change := ""
	for i := range 40 {
		change += testbox.FlowPolicy(i)
	}
	undo := "xfrm policy delete src 10.1.0.5/32 dst 10.2.0.7/32 proto udp sport 1000 dport 2000 dir out\n"
	twin := newRig(t, large, testbox.Tunnel)
	twin.change(change + undo)

	r := newRig(t, large, testbox.Tunnel)
	table := r.lookup(transport.Inner, regs.InnerTableFlow)
	index := r.used(table)
	r.Fake.Flip(table.Chip, table.Table, index, 0)
	r.Fake.Flip(table.Chip, table.Table, table.Rows-1, 0)
	r.Fake.Meet(table.Chip, table.Table, index)
	for range 3 {
		r.step(0)
	}
	r.change(change + undo)
	r.steps(200, begins(table), ends(table))
	r.same("rows", r.Snapshot(), twin.Snapshot())
}

// TestErased: chips that have lost their configuration get no row. The pass goes on once they
// have one.
func TestErased(t *testing.T) {
	r := newRig(t, fakebox.Small, testbox.Tunnel)
	table := r.lookup(transport.Inner, regs.InnerTableFlow)
	r.Fake.Flip(table.Chip, table.Table, 9, 0)
	r.Fake.Meet(table.Chip, table.Table, 9)
	r.Fake.Tamper(true)
	for range 3 {
		r.step(tick)
	}
	r.same("rows written", len(r.Fake.Log), 0)
	r.Fake.Tamper(false)
	if _, err := r.session.Restore(); err != nil {
		t.Fatal(err)
	}
	want := r.Snapshot()
	r.steps(1, begins(table), ends(table))
	r.same("rows", r.Snapshot(), want)
}

// TestResetInAStep: of rows that are written while the chips are reset none stays, and no port
// opens.
func TestResetInAStep(t *testing.T) {
	for _, at := range []struct {
		chip  transport.Chip
		table regs.Table
	}{{transport.Inner, regs.InnerTableFlow}, {transport.Inner, regs.InnerTableInboundRule}, {transport.Outer, regs.OuterTableSad}} {
		r := newRig(t, fakebox.Small, many)
		table := r.lookup(at.chip, at.table)
		r.Fake.Flip(table.Chip, table.Table, r.used(table), 0)
		r.Fake.Meet(table.Chip, table.Table, r.used(table))
		r.Fake.OnRow = func(row fakebox.Row) {
			if row.Table == table.Table.Name {
				r.Fake.OnRow = nil
				r.Fake.Reset()
			}
		}
		for r.Fake.OnRow != nil {
			r.step(tick)
		}
		for range 4 {
			r.same("rows", r.Snapshot(), "")
			r.same("CONTROL", r.Fake.Get(transport.Inner, regs.InnerControl)|r.Fake.Get(transport.Outer, regs.OuterControl), 0)
			r.step(tick)
		}
	}
}

// TestBusIsGone: an error comes with the events before it.
func TestBusIsGone(t *testing.T) {
	r := newRig(t, fakebox.Small, testbox.Tunnel)
	r.Fake.Count(transport.Inner, "flow_row_upset", 1)
	r.Fake.FailAfter = 40
	told, err := r.watch.Step(r.now)
	if err == nil || len(told) != 1 {
		t.Error(told, err)
	}
}
