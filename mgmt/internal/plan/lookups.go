// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Lookup is a table that packets are looked up in: the configuration determines every row, and
// software can read it. Key tables are not among them.
type Lookup struct {
	Chip  transport.Chip
	Table regs.Table
	Rows  int
	row   func(*compile.Image, int) compile.Row
	index func(int) int // of the n-th row, if that is not n
}

// Lookups are these tables, with the rows that the chips were built with.
func Lookups(built *[3]chip.Capabilities) []Lookup {
	inner, outer := built[transport.Inner], built[transport.Outer]
	lookups := []Lookup{
		{Chip: transport.Inner, Table: regs.InnerTableFlow, Rows: inner.FlowRows, row: func(i *compile.Image, n int) compile.Row { return i.Flow[n] }},
		{Chip: transport.Inner, Table: regs.InnerTableRule, Rows: inner.Rules, row: func(i *compile.Image, n int) compile.Row { return i.InnerRule[n].Row }},
		{Chip: transport.Inner, Table: regs.InnerTableInboundRule, Rows: inner.Rules, row: func(i *compile.Image, n int) compile.Row { return i.InboundRule[n].Row }},
		{Chip: transport.Inner, Table: regs.InnerTableSelector, Rows: inner.SAs, row: func(i *compile.Image, n int) compile.Row { return i.Selector[n] }},
		{Chip: transport.Inner, Table: regs.InnerTableNextHop, Rows: inner.NextHops, row: func(i *compile.Image, n int) compile.Row { return i.RedHop[n].Row }},
		{Chip: transport.Inner, Table: regs.InnerTableHost, Rows: inner.HostRows, row: func(i *compile.Image, n int) compile.Row { return i.Host[n] }},
		{Chip: transport.Inner, Table: regs.InnerTableNetwork, Rows: compile.NetworkRows, row: func(i *compile.Image, n int) compile.Row { return i.Network[n] }},
		{Chip: transport.Inner, Table: regs.InnerTableDummy, Rows: compile.DummyRows, row: func(i *compile.Image, n int) compile.Row { return i.Dummy[n] }},
		{Chip: transport.Inner, Table: regs.InnerTableDscpSa, Rows: compile.DscpBlocks * model.Dscps, row: func(i *compile.Image, n int) compile.Row { return i.DSCPSA[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableSad, Rows: outer.SADRows, row: func(i *compile.Image, n int) compile.Row { return i.SAD[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableRule, Rows: outer.Rules, row: func(i *compile.Image, n int) compile.Row { return i.OuterRule[n].Row }},
		{Chip: transport.Outer, Table: regs.OuterTablePeer, Rows: outer.PeerRows, row: func(i *compile.Image, n int) compile.Row { return i.Peer[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableTunnel, Rows: outer.SAs, row: func(i *compile.Image, n int) compile.Row { return i.Tunnel[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableNextHop, Rows: outer.NextHops, row: func(i *compile.Image, n int) compile.Row { return i.BlackHop[n].Row }},
		{Chip: transport.Outer, Table: regs.OuterTableBlackHost, Rows: outer.HostRows, row: func(i *compile.Image, n int) compile.Row { return i.BlackHost[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableDscpMap, Rows: compile.DscpArrays * model.Dscps, row: func(i *compile.Image, n int) compile.Row { return i.DSCPMap[n] }},
	}
	levels, roots := 4, prefixes.Roots
	if inner.PolicyRows > 0 { // the last level of trees of policies leads on, too
		levels, roots = 5, prefixes.Roots
		lookups = append(lookups, Lookup{Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Rows: inner.PolicyRows, row: func(i *compile.Image, n int) compile.Row { return i.PrefixPolicy[n] }})
	}
	return append(append(lookups, trees(xfrm.Red, inner.PrefixRows, levels, roots)...), trees(xfrm.Black, outer.PrefixRows, 4, 2)...)
}

// trees are the tables of a device's trees of prefixes: of so many levels with children, from so
// many roots.
func trees(dev string, leaves, levels, roots int) []Lookup {
	if leaves == 0 {
		return nil
	}
	all := prefixes.Levels(leaves)
	of := func(table regs.Table, total int, index func(int) int) Lookup {
		table = compile.TreeTable(dev, table)
		return Lookup{Chip: chipOf[dev], Table: table, Rows: total, index: index, row: func(i *compile.Image, n int) compile.Row { return (*i.Rows()[table.Name])[n] }}
	}
	leveled := func(table regs.Table, levels int) Lookup {
		total := 0
		for _, count := range all[:levels] {
			total += count
		}
		return of(table, total, func(n int) int {
			level := 0
			for ; n >= all[level]; level++ {
				n -= all[level]
			}
			return prefixes.Index(level, n)
		})
	}
	return []Lookup{
		leveled(regs.InnerTablePrefix, 5), leveled(regs.InnerTablePrefixChild, levels),
		of(regs.InnerTablePrefixRoot, roots, nil), of(regs.InnerTableHopGroup, 256, nil),
	}
}

// Index is the index of the n-th of its rows.
func (t *Lookup) Index(n int) int {
	if t.index == nil {
		return n
	}
	return t.index(n)
}

// Counters are the chip's counters of look-ups that met a row of the table with a flipped bit.
// Those of the trees of routes are counted together, and so are those of policies; the trees share
// tables.
func (t *Lookup) Counters() []string {
	const routes, policies = "prefix_row_upset", "policy_row_upset"
	switch t.Table.Name {
	case regs.InnerTablePrefix.Name, regs.InnerTablePrefixChild.Name, regs.InnerTablePrefixRoot.Name:
		return []string{routes, policies}
	case regs.InnerTableHopGroup.Name, regs.OuterTableBlackPrefix.Name, regs.OuterTableBlackPrefixChild.Name,
		regs.OuterTableBlackPrefixRoot.Name, regs.OuterTableBlackHopGroup.Name:
		return []string{routes}
	case regs.OuterTableBlackHost.Name:
		return []string{regs.InnerTableHost.Name + "_row_upset"}
	case regs.InnerTablePrefixPolicy.Name:
		return []string{policies}
	}
	return []string{t.Table.Name + "_row_upset"}
}

// Row is a row as an image has it, in all its words.
func (t *Lookup) Row(i *compile.Image, index int) compile.Row {
	row := make(compile.Row, t.Table.Words())
	copy(row, t.row(i, index))
	return row
}

// IsRules says that software reads a copy of a row, not the memories of look-ups, and that a row
// matches nothing while another value or mask is written to it.
func (t *Lookup) IsRules() bool { return t.Table.Kind == "ternary" }
