// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// detach cuts the paths to rows that a change gives to another owner. Otherwise such a path would
// lead to the new owner too early, and packets of one policy would leave under the SA of another. A
// flow, a policy by prefix or a rule gets DISCARD, because without it a lower rule might let its
// packets out in clear. A SAD, tunnel or selector row is cleared, which drops packets. detach
// returns the tables after these writes.
func (p *planner) detach() *compile.Image {
	red, black := p.newHops(xfrm.Red), p.newHops(xfrm.Black)
	outbound, inbound := p.newSAs(xfrm.DirOut), p.newSAs(xfrm.DirIn)
	blocks := p.old.BlocksOf(outbound)
	maps.Copy(blocks, p.newBlocks())
	image := *p.old
	image.Flow = p.letGo(transport.Inner, regs.InnerTableFlow, image.Flow, discarding(outbound, blocks, black))
	image.PrefixPolicy = p.letGo(transport.Inner, regs.InnerTablePrefixPolicy, image.PrefixPolicy, discarding(outbound, blocks, black))
	image.InnerRule = p.letGoOfRules(transport.Inner, regs.InnerTableRule, image.InnerRule, discarding(outbound, blocks, black))
	image.OuterRule = p.letGoOfRules(transport.Outer, regs.OuterTableRule, image.OuterRule, discarding(nil, nil, red))
	image.SAD = p.letGo(transport.Outer, regs.OuterTableSad, image.SAD, clearing(regs.SadRow.Sa, inbound))
	image.Tunnel = p.letGo(transport.Outer, regs.OuterTableTunnel, image.Tunnel, clearing(regs.TunnelRow.NextHop, black))
	image.Dummy = p.letGo(transport.Inner, regs.InnerTableDummy, image.Dummy, clearing(regs.DummyRow.Sa, outbound))
	image.Selector = p.letGo(transport.Inner, regs.InnerTableSelector, image.Selector, clearing(regs.SelectorRow.NextHop, red))
	return &image
}

// newSAs are the rows in use that new SAs take.
func (p *planner) newSAs(way xfrm.Dir) map[int]bool {
	rows := map[int]bool{}
	for _, sa := range p.m.Changes.Added() {
		if sa.Way == way && p.old.Keys(way).Has(sa.Row) {
			rows[sa.Row] = true
		}
	}
	return rows
}

// newHops are the rows in use that other next hops take.
func (p *planner) newHops(dev string) map[int]bool {
	rows := map[int]bool{}
	old := p.old.Hops(dev)
	for index, hop := range p.Target.Hops[dev] {
		if before, used := old[index]; used && (before.IP != hop.IP || before.Network != hop.Network) {
			rows[index] = true
		}
	}
	return rows
}

// discarding gives the row that a flow, policy by prefix or rule becomes if it leads to one of some
// SAs, blocks of SAs or next hops; the same one if it does not.
func discarding(sas, blocks, hops map[int]bool) func(compile.Row) compile.Row {
	f := regs.FlowRow // the others' decisions stand in the same place
	return func(row compile.Row) compile.Row {
		action, to, outbound := f.Action.Get(row), int(f.Sa.Get(row)), sas
		if f.ByDscp.Get(row) != 0 {
			outbound = blocks
		}
		if action == regs.ActionProtect && outbound[to] || action == regs.ActionBypass && hops[to] {
			row = slices.Clone(row)
			f.ByDscp.Put(row, 0)
			f.Action.Put(row, regs.ActionDiscard)
			f.Sa.Put(row, 0)
		}
		return row
	}
}

// clearing gives no row for one that leads to one of some rows.
func clearing(field regs.Field, rows map[int]bool) func(compile.Row) compile.Row {
	return func(row compile.Row) compile.Row {
		if rows[int(field.Get(row))] {
			return nil
		}
		return row
	}
}

func (p *planner) letGo(c transport.Chip, table regs.Table, have map[int]compile.Row, change func(compile.Row) compile.Row) map[int]compile.Row {
	out := maps.Clone(have)
	for _, index := range slices.Sorted(maps.Keys(have)) {
		row := change(have[index])
		if slices.Equal(row, have[index]) {
			continue
		}
		p.add(Write{Phase: phaseEarlyRemove, Chip: c, Table: table, Index: index, Row: row})
		if out[index] = row; row == nil {
			delete(out, index)
		}
	}
	return out
}

func (p *planner) letGoOfRules(c transport.Chip, table regs.Table, have map[int]compile.Rule, change func(compile.Row) compile.Row) map[int]compile.Rule {
	rows, out := map[int]compile.Row{}, maps.Clone(have)
	for index, rule := range have {
		rows[index] = rule.Row
	}
	for index, row := range p.letGo(c, table, rows, change) {
		out[index] = compile.Rule{Owner: have[index].Owner, Part: have[index].Part, Row: row}
	}
	return out
}

// newBlocks are the blocks in use whose place another takes.
func (p *planner) newBlocks() map[int]bool {
	out := map[int]bool{}
	for index := range p.Target.DscpSA {
		number := index / model.Dscps
		if before := compile.BlockAt(p.old.DSCPSA, number); before != (compile.Block{}) && before != compile.BlockAt(p.Target.DscpSA, number) {
			out[number] = true
		}
	}
	return out
}
