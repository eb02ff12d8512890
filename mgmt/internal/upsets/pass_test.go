// SPDX-License-Identifier: Apache-2.0

package upsets_test

import (
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/upsets"
)

// large has tables of the largest build.
var large = fakebox.Sizes{SABits: 16, FlowBits: 16, SADBits: 17, Rules: 1024, NextHops: 256, HostBits: 6, PeerBits: 6, Window: 4096, Suites: 0x7ffe}

// most is how many accesses of a step are beside those of rows: counters, and the marks before
// and behind.
const most = 48

// TestFlipIsMended: whichever bit of a row flips, its key's, its result's or its check bit, of a
// row in use or of an empty one, it is right again after a pass, and no other table was written.
func TestFlipIsMended(t *testing.T) {
	for _, at := range []struct {
		chip  transport.Chip
		table regs.Table
	}{
		{transport.Inner, regs.InnerTableFlow}, {transport.Outer, regs.OuterTableSad}, {transport.Outer, regs.OuterTablePeer},
		{transport.Inner, regs.InnerTableRule}, {transport.Inner, regs.InnerTableInboundRule}, {transport.Outer, regs.OuterTableRule},
		{transport.Inner, regs.InnerTableSelector}, {transport.Inner, regs.InnerTableNextHop},
		{transport.Outer, regs.OuterTableTunnel}, {transport.Outer, regs.OuterTableNextHop},
	} {
		for _, place := range []func(*rig, plan.Lookup) int{(*rig).used, (*rig).empty} {
			for _, bit := range []int{0, at.table.RowBits - 1, at.table.RowBits} {
				r := newRig(t, fakebox.Small, many)
				want, table := r.Snapshot(), r.lookup(at.chip, at.table)
				index := place(r, table)
				r.Fake.Flip(table.Chip, table.Table, index, bit)
				r.Fake.Meet(table.Chip, table.Table, index)
				r.steps(2, begins(table), ends(table))
				r.same("rows", withoutKeep(r), want)
				r.written(table)
				before := r.count(table)
				r.Fake.Meet(table.Chip, table.Table, index)
				r.same("look-ups that meet the bit still", r.count(table), before)
			}
		}
	}
}

// TestNothingFlipped: as long as no counter rises, and no row is due to be compared, nothing is
// written or told.
func TestNothingFlipped(t *testing.T) {
	r := newRig(t, fakebox.Small, testbox.Tunnel)
	for range 10 {
		if took := r.step(0); took > most {
			t.Errorf("a step took %d accesses", took)
		}
	}
	r.same("rows written", len(r.Fake.Log), 0)
	r.same("events", len(r.told), 0)
}

// TestStepsAreBounded: tables of the largest build are written in steps of bounded cost.
func TestStepsAreBounded(t *testing.T) {
	for _, c := range []struct {
		chip  transport.Chip
		table regs.Table
		steps int
	}{{transport.Inner, regs.InnerTableFlow, 145}, {transport.Outer, regs.OuterTableSad, 193}, {transport.Outer, regs.OuterTableRule, 8}} {
		r := newRig(t, large, testbox.Tunnel)
		table, dearest, steps := r.lookup(c.chip, c.table), 0, 0
		r.Fake.Flip(table.Chip, table.Table, table.Rows-1, 0)
		r.Fake.Meet(table.Chip, table.Table, table.Rows-1)
		for ; len(r.told) < 2; steps++ {
			dearest = max(dearest, r.step(0))
		}
		if dearest > upsets.AccessesToWrite+most {
			t.Errorf("a step of %s took %d accesses", table.Table.Name, dearest)
		}
		r.same("steps of "+table.Table.Name, steps, c.steps)
		r.same("rows written", len(r.Fake.Log), table.Rows)
		r.told = nil
	}
}

// TestFlipsInAPass: a bit that flips behind the rows that are being written has the pass go round
// to them again. Its end is told once.
func TestFlipsInAPass(t *testing.T) {
	r := newRig(t, large, testbox.Tunnel)
	want, table := r.Snapshot(), r.lookup(transport.Inner, regs.InnerTableFlow)
	r.Fake.Flip(table.Chip, table.Table, 40_000, 0)
	r.Fake.Meet(table.Chip, table.Table, 40_000)
	for range 10 {
		r.step(0)
	}
	r.Fake.Flip(table.Chip, table.Table, 1, 7)
	for range 20 {
		r.Fake.Meet(table.Chip, table.Table, 1)
		r.step(0)
	}
	r.steps(200, begins(table), ends(table))
	r.same("rows", r.Snapshot(), want)
	r.same("flow is upset", r.watch.States()[0].Upset, false)
}

// TestTwoTables: the rows of two tables are written in turns, so that none waits for a bit of the
// other that stays wrong.
func TestTwoTables(t *testing.T) {
	r := newRig(t, large, testbox.Tunnel)
	want, flow, sad := r.Snapshot(), r.lookup(transport.Inner, regs.InnerTableFlow), r.lookup(transport.Outer, regs.OuterTableSad)
	r.Fake.Flip(sad.Chip, sad.Table, 5, 0)
	r.Fake.Meet(sad.Chip, sad.Table, 5)
	for n := uint64(1); len(r.told) < 3 && n < 1000; n++ {
		r.Fake.Count(transport.Inner, "flow_row_upset", n)
		r.step(0)
	}
	r.steps(0, begins(flow), begins(sad), ends(sad))
	r.same("rows", r.Snapshot(), want)
	r.same("flow is upset", r.watch.States()[0].Upset, true)
	r.steps(200, ends(flow))
}

// TestTold: an upset of a table is told each ten seconds at most, and its end only if it was
// told itself. All are repaired.
func TestTold(t *testing.T) {
	r := newRig(t, fakebox.Small, testbox.Tunnel)
	want, table := r.Snapshot(), r.lookup(transport.Inner, regs.InnerTableFlow)
	upset := func(passed time.Duration) {
		r.now = r.now.Add(passed)
		r.Fake.Flip(table.Chip, table.Table, 9, 0)
		r.Fake.Meet(table.Chip, table.Table, 9)
		r.step(0)
		r.same("rows", r.Snapshot(), want)
	}
	upset(0)
	r.steps(0, begins(table), ends(table))
	upset(time.Second)
	upset(8 * time.Second)
	r.steps(0)
	upset(time.Second)
	r.steps(0, begins(table), ends(table))
}

// TestUpsetBefore: flipped bits that were counted before there was a watch are repaired.
func TestUpsetBefore(t *testing.T) {
	r := newRig(t, fakebox.Small, testbox.Tunnel)
	want, table := r.Snapshot(), r.lookup(transport.Outer, regs.OuterTableSad)
	r.Fake.Flip(table.Chip, table.Table, 3, 0)
	r.Fake.Count(transport.Outer, "sad_row_upset", 4711)
	r.steps(1, begins(table), ends(table))
	r.same("rows", r.Snapshot(), want)
}
