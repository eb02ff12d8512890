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

// many has rules in each table of rules, and a VLAN in a VRF.
const many = testbox.Tunnel + `
xfrm policy add src 10.3.0.0/16 dst 10.1.0.0/16 dir fwd priority 100 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.9.0.0/16 dst 10.1.0.0/16 dir fwd action allow
link add link red name red.7 type vlan id 7
link add blue type vrf table 10
link set red.7 master blue
`

// tick is the period of polls.
const tick = 100 * time.Millisecond

// TestRound: bits that no look-up meets are found within a round, in every table. Nothing else is
// written but rules, and these as they are.
func TestRound(t *testing.T) {
	r := newRig(t, fakebox.Small, many)
	want := r.Snapshot()
	r.step(0)
	for _, table := range plan.Lookups(&r.session.Box.Capabilities) {
		r.Fake.Log = nil
		index := r.empty(table)
		if len(r.Fake.Table(table.Chip, table.Table)) > 0 {
			index = r.used(table)
		}
		r.Fake.Flip(table.Chip, table.Table, index, 1)
		for end := r.now.Add(2 * upsets.Round); r.now.Before(end) && len(r.told) < 2; {
			if took := r.step(tick); took > 2*upsets.AccessesToCompare+most {
				t.Fatalf("a step took %d accesses", took)
			}
		}
		r.steps(0, begins(table), ends(table))
		r.same("rows", withoutKeep(r), want)
		mended := 0
		for _, row := range r.Fake.Log {
			if row.Chip == table.Chip && row.Table == table.Table.Name && row.Index == index {
				mended++
			} else if row.Table != regs.InnerTableRule.Name && row.Table != regs.InnerTableInboundRule.Name {
				t.Errorf("%s row %d was written", row.Table, row.Index)
			}
		}
		if mended == 0 {
			t.Errorf("%s row %d was not written", table.Table.Name, index)
		}
	}
	for _, state := range r.watch.States() {
		r.same("wrong rows of "+state.Table, state.Wrong, 1)
	}
}

// withoutKeep is the snapshot of the box without the mark of how selector rows were written.
func withoutKeep(r *rig) string {
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableSelector) {
		regs.SelectorRow.WindowKeep.Put(row, 0)
	}
	return r.Snapshot()
}

// TestRoundOfLarge: tables of the largest build are compared in a round too, at polls of 100 ms.
func TestRoundOfLarge(t *testing.T) {
	r := newRig(t, large, testbox.Tunnel)
	table := r.lookup(transport.Outer, regs.OuterTableDscpMap) // the last
	r.Fake.Flip(table.Chip, table.Table, table.Rows-1, 0)
	begun := r.now
	for len(r.told) < 2 {
		r.step(tick)
	}
	if took := r.now.Sub(begun); took > upsets.Round+upsets.Round/10 {
		t.Errorf("a round takes %v", took)
	}
}

// TestWindowIsKept: a selector row is mended without its window: the write says so.
func TestWindowIsKept(t *testing.T) {
	r := newRig(t, fakebox.Small, testbox.Tunnel)
	table := r.lookup(transport.Inner, regs.InnerTableSelector)
	index := r.used(table)
	r.Fake.Flip(table.Chip, table.Table, index, 3)
	r.step(0)
	for len(r.Fake.LogOf(table.Table)) == 0 {
		r.step(tick)
	}
	row := r.Fake.LogOf(table.Table)[0]
	r.same("row", row.Index, index)
	r.same("window_keep", regs.SelectorRow.WindowKeep.Get(row.Words), 1)
}

// TestRuleAtRest: a rule that software's copy has wrong matches nothing while it is written, so
// no port receives then. Other rules are written under traffic. The ports are as before behind it.
func TestRuleAtRest(t *testing.T) {
	receives := func(r *rig) uint32 {
		rx := uint32(1) << regs.InnerControlRxEnable.LSB
		return (r.Fake.Get(transport.Inner, regs.InnerControl) | r.Fake.Get(transport.Outer, regs.OuterControl)) & rx
	}
	for _, at := range []struct {
		chip  transport.Chip
		table regs.Table
	}{{transport.Inner, regs.InnerTableRule}, {transport.Inner, regs.InnerTableInboundRule}, {transport.Outer, regs.OuterTableRule}} {
		for _, closed := range []bool{false, true} {
			r := newRig(t, fakebox.Small, many)
			if closed {
				if err := r.session.ClosePorts(); err != nil {
					t.Fatal(err)
				}
			}
			want, table, before := r.Snapshot(), r.lookup(at.chip, at.table), receives(r)
			r.same("closed", before == 0, closed)
			index := r.used(table)
			r.Fake.Flip(table.Chip, table.Table, index, 5)
			r.Fake.OnRow = func(row fakebox.Row) {
				if row.Table == table.Table.Name && row.Chip == table.Chip && row.Index == index && len(r.Fake.Waits) > 0 {
					r.same("the port receives while the wrong rule is written", receives(r), 0)
				} else {
					r.same("the port receives", receives(r), before)
				}
			}
			for len(r.told) < 2 {
				r.step(tick)
			}
			r.steps(0, begins(table), ends(table))
			r.same("rows", r.Snapshot(), want)
			r.same("the port receives behind it", receives(r), before)
			r.same("waits", len(r.Fake.Waits), 1)
		}
	}
}

// TestTree: flipped bits in the tree of prefixes are mended, those that a look-up meets and those
// that none meets, in each of its tables.
func TestTree(t *testing.T) {
	sizes := fakebox.Small
	sizes.PrefixBits, sizes.PolicyBits = 8, 5
	const routes, policies = "prefix_row_upset", "policy_row_upset"
	for _, test := range []struct {
		at      regs.Table
		counter string
	}{
		{regs.InnerTablePrefix, routes}, {regs.InnerTablePrefixChild, routes}, {regs.InnerTablePrefixRoot, routes}, {regs.InnerTableHopGroup, routes},
		{regs.InnerTablePrefix, policies}, {regs.InnerTablePrefixChild, policies}, {regs.InnerTablePrefixRoot, policies}, {regs.InnerTablePrefixPolicy, policies},
	} {
		at := test.at
		r := newRig(t, sizes, testbox.Tunnel+"route add 10.8.0.0/16 via 10.1.0.9 dev red\nroute add 2001:db8::/32 via inet 10.1.0.9 dev red\nxfrm policy add src 10.0.0.0/8 dst 10.77.0.0/16 dir out action block\n")
		want, table := r.Snapshot(), r.lookup(transport.Inner, at)
		index := r.used(table)
		r.Fake.Flip(table.Chip, table.Table, index, 1)
		r.Fake.Count(transport.Inner, test.counter, 1)
		for end := r.now.Add(time.Minute); r.now.Before(end); {
			r.step(tick)
		}
		r.same("rows", withoutKeep(r), want)
		r.same("wrong rows", r.watch.States()[0].Upset, false)
		r.Fake.Flip(table.Chip, table.Table, index, 2)
		for end := r.now.Add(2 * upsets.Round); r.now.Before(end); {
			r.step(tick)
		}
		r.same("rows that no look-up met", withoutKeep(r), want)
	}
}
