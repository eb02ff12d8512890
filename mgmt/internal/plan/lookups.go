// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
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
}

// Lookups are these tables, with the rows that the chips were built with.
func Lookups(built *[3]chip.Capabilities) []Lookup {
	inner, outer := built[transport.Inner], built[transport.Outer]
	return []Lookup{
		{transport.Inner, regs.InnerTableFlow, inner.FlowRows, func(i *compile.Image, n int) compile.Row { return i.Flow[n] }},
		{transport.Inner, regs.InnerTableRule, inner.Rules, func(i *compile.Image, n int) compile.Row { return i.InnerRule[n].Row }},
		{transport.Inner, regs.InnerTableInboundRule, inner.Rules, func(i *compile.Image, n int) compile.Row { return i.InboundRule[n].Row }},
		{transport.Inner, regs.InnerTableSelector, inner.SAs, func(i *compile.Image, n int) compile.Row { return i.Selector[n] }},
		{transport.Inner, regs.InnerTableNextHop, inner.NextHops, func(i *compile.Image, n int) compile.Row { return i.RedHop[n].Row }},
		{transport.Inner, regs.InnerTableHost, inner.HostRows, func(i *compile.Image, n int) compile.Row { return i.Host[n] }},
		{transport.Inner, regs.InnerTableDummy, compile.DummyRows, func(i *compile.Image, n int) compile.Row { return i.Dummy[n] }},
		{transport.Inner, regs.InnerTableDscpSa, compile.DscpBlocks * model.Dscps, func(i *compile.Image, n int) compile.Row { return i.DSCPSA[n] }},
		{transport.Outer, regs.OuterTableSad, outer.SADRows, func(i *compile.Image, n int) compile.Row { return i.SAD[n] }},
		{transport.Outer, regs.OuterTableRule, outer.Rules, func(i *compile.Image, n int) compile.Row { return i.OuterRule[n].Row }},
		{transport.Outer, regs.OuterTablePeer, outer.PeerRows, func(i *compile.Image, n int) compile.Row { return i.Peer[n] }},
		{transport.Outer, regs.OuterTableTunnel, outer.SAs, func(i *compile.Image, n int) compile.Row { return i.Tunnel[n] }},
		{transport.Outer, regs.OuterTableNextHop, outer.NextHops, func(i *compile.Image, n int) compile.Row { return i.BlackHop[n].Row }},
		{transport.Outer, regs.OuterTableDscpMap, compile.DscpArrays * model.Dscps, func(i *compile.Image, n int) compile.Row { return i.DSCPMap[n] }},
	}
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
