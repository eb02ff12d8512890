// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
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
		{Chip: transport.Inner, Table: regs.InnerTableDummy, Rows: compile.DummyRows, row: func(i *compile.Image, n int) compile.Row { return i.Dummy[n] }},
		{Chip: transport.Inner, Table: regs.InnerTableDscpSa, Rows: compile.DscpBlocks * model.Dscps, row: func(i *compile.Image, n int) compile.Row { return i.DSCPSA[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableSad, Rows: outer.SADRows, row: func(i *compile.Image, n int) compile.Row { return i.SAD[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableRule, Rows: outer.Rules, row: func(i *compile.Image, n int) compile.Row { return i.OuterRule[n].Row }},
		{Chip: transport.Outer, Table: regs.OuterTablePeer, Rows: outer.PeerRows, row: func(i *compile.Image, n int) compile.Row { return i.Peer[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableTunnel, Rows: outer.SAs, row: func(i *compile.Image, n int) compile.Row { return i.Tunnel[n] }},
		{Chip: transport.Outer, Table: regs.OuterTableNextHop, Rows: outer.NextHops, row: func(i *compile.Image, n int) compile.Row { return i.BlackHop[n].Row }},
		{Chip: transport.Outer, Table: regs.OuterTableDscpMap, Rows: compile.DscpArrays * model.Dscps, row: func(i *compile.Image, n int) compile.Row { return i.DSCPMap[n] }},
	}
	if inner.PrefixRows == 0 {
		return lookups
	}
	of := func(table regs.Table, levels int) Lookup {
		rows := prefixes.Levels(inner.PrefixRows)[:levels]
		at := func(n int) int {
			level := 0
			for ; n >= rows[level]; level++ {
				n -= rows[level]
			}
			return prefixes.Index(level, n)
		}
		total := 0
		for _, count := range rows {
			total += count
		}
		return Lookup{Chip: transport.Inner, Table: table, Rows: total, index: at, row: func(i *compile.Image, n int) compile.Row { return (*i.Rows()[table.Name])[n] }}
	}
	levels, roots := 4, 2
	if inner.PolicyRows > 0 { // the last level of trees of policies leads on, too
		levels, roots = 5, 4
		lookups = append(lookups, Lookup{Chip: transport.Inner, Table: regs.InnerTablePrefixPolicy, Rows: inner.PolicyRows, row: func(i *compile.Image, n int) compile.Row { return i.PrefixPolicy[n] }})
	}
	return append(lookups,
		of(regs.InnerTablePrefix, 5), of(regs.InnerTablePrefixChild, levels),
		Lookup{Chip: transport.Inner, Table: regs.InnerTablePrefixRoot, Rows: roots, row: func(i *compile.Image, n int) compile.Row { return i.PrefixRoot[n] }},
		Lookup{Chip: transport.Inner, Table: regs.InnerTableHopGroup, Rows: 256, row: func(i *compile.Image, n int) compile.Row { return i.HopGroup[n] }},
	)
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
	case regs.InnerTableHopGroup.Name:
		return []string{routes}
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
