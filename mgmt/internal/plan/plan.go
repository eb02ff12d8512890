// SPDX-License-Identifier: Apache-2.0

// Package plan orders the writes that change the chips' tables, so that traffic never meets half of
// a change.
package plan

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// phase orders the writes of a plan so that traffic never meets half of a change: whatever a lookup
// can lead to is there before the lookup finds it, and goes after the lookup no longer does.
type phase int

const (
	phaseApart       phase = iota // VLANs leave the network that they were in
	phaseEarlyRemove              // when old rows must go to make room
	phaseEarlyClear
	phaseHops
	phaseKeys
	phaseSets // inbound rules, to which rows of inbound SAs and clear packets lead
	phaseDirect
	PhaseInsert
	phaseRemove // and rules that move down their table
	phaseClear
	phaseNetworks // VLANs come to the network that they are in
)

// Write is one row to be written. An empty Row clears it.
type Write struct {
	Phase   phase
	Chip    transport.Chip
	Table   regs.Table
	Index   int
	Row     compile.Row
	Secret  *model.SA // the row is made of this SA's key when it is written
	Drained bool      // it waits until the box has sent what had passed the look-ups
}

// Plan is everything a change does to the tables.
type Plan struct {
	Writes []Write
	Target *compile.Target
	// Image is what the tables hold in the end; of a part, where Target has one, the tables alone
	// that are written whole.
	Image *compile.Image
	// Shut says that the crypto chip must let no clear packet pass meanwhile: a packet may miss its
	// policy, and meet one behind it that lets it pass. So it is if tables are too full for old and
	// new rows side by side, and what goes does so first; in a batch of several policies, whose
	// places do not change at one moment; and in some changes of routes to XFRM interfaces.
	Shut bool
	// Roomless are peers that find no room in their table; of a part, among those that it looks at.
	Roomless []compile.Placed
	// Ways are the trees of prefixes in the end, and Refused the routes of Linux without room in
	// them, by device.
	Ways    map[string]*compile.Ways
	Refused map[string][]netip.Prefix
}

// MakePlan compares the tables with the model, and checks every capacity. It writes nothing. New
// entries go in before old ones leave, unless the tables are too full for that. If its caller
// passes standing, it looks only at the rows that the change touches, as far as it can tell them
// from the rest.
func MakePlan(m *model.Model, old *compile.Image, standing *compile.Standing, sizes compile.Sizes, r *model.Report) (*Plan, error) {
	if err := m.CheckBridge(); err != nil {
		return nil, err
	}
	if err := m.CheckMTU(); err != nil {
		return nil, err
	}
	if err := m.Direct(r); err != nil {
		return nil, err
	}
	if standing != nil {
		part := &model.Report{}
		if p := planPart(m, old, standing, sizes, part); p != nil {
			r.Warnings = append(r.Warnings, part.Warnings...)
			return p, nil
		}
	}
	first := &model.Report{}
	p, err := planOnce(m, old, standing, sizes, false, first)
	if full := (*compile.FullError)(nil); errors.As(err, &full) {
		first = &model.Report{}
		p, err = planOnce(m, old, standing, sizes, true, first)
		if errors.As(err, &full) {
			err = full.Err
		}
	}
	r.Warnings = append(r.Warnings, first.Warnings...)
	return p, err
}

func planOnce(m *model.Model, old *compile.Image, known *compile.Standing, sizes compile.Sizes, removeFirst bool, r *model.Report) (*Plan, error) {
	t, err := compile.Compile(m, old, sizes, removeFirst, r)
	if err != nil {
		return nil, err
	}
	p := &planner{Plan: Plan{Image: &compile.Image{}, Target: t, Refused: map[string][]netip.Prefix{}}, m: m, old: old, known: known, removeFirst: removeFirst, report: r}
	if removeFirst {
		old = p.detach()
	}
	p.hops(transport.Inner, regs.InnerTableNextHop, xfrm.Red, &p.Image.RedHop)
	p.hops(transport.Outer, regs.OuterTableNextHop, xfrm.Black, &p.Image.BlackHop)
	if err = p.hosts(sizes.Hosts); err != nil {
		return nil, err
	}
	p.keys(xfrm.DirOut, regs.CryptoTableOutboundKey)
	p.keys(xfrm.DirIn, regs.CryptoTableInboundKey)
	p.presetNumbers()
	p.direct(transport.Outer, regs.OuterTableDscpMap, old.DSCPMap, t.DscpMap, nil)
	p.direct(transport.Inner, regs.InnerTableDscpSa, old.DSCPSA, t.DscpSA, nil)
	p.Image.DSCPMap, p.Image.DSCPSA = t.DscpMap, t.DscpSA
	p.direct(transport.Outer, regs.OuterTableTunnel, old.Tunnel, t.Tunnels, nil)
	p.presetWindows()
	p.presetUsage()
	p.direct(transport.Inner, regs.InnerTableSelector, old.Selector, t.Selectors, p.freshInbound())
	p.keepWindows()
	p.Image.Tunnel, p.Image.Selector = t.Tunnels, t.Selectors
	p.dummies(old.Dummy)
	if p.Image.Peer, p.Roomless, err = p.hash(transport.Outer, regs.OuterTablePeer, sizes.Peers, compile.PeerKey, old.Peer, t.Peers); err != nil {
		return nil, err
	}
	p.warnLeft(regs.OuterTablePeer, sizes.Peers, len(p.Roomless))
	if p.Image.SAD, _, err = p.hash(transport.Outer, regs.OuterTableSad, sizes.SADRows, compile.SadKey, old.SAD, t.Sad); err != nil {
		return nil, err
	}
	if p.Image.Flow, _, err = p.hash(transport.Inner, regs.InnerTableFlow, sizes.FlowRows, compile.FlowKey, old.Flow, t.Flows); err != nil {
		return nil, err
	}
	if p.Image.OuterRule, err = p.rules(transport.Outer, regs.OuterTableRule, sizes.OuterRules, old.OuterRule, t.OuterRules); err != nil {
		return nil, err
	}
	if p.Image.InnerRule, err = p.rules(transport.Inner, regs.InnerTableRule, sizes.InnerRules, old.InnerRule, t.InnerRules); err != nil {
		return nil, err
	}
	if p.Image.InboundRule, err = p.rules(transport.Inner, regs.InnerTableInboundRule, sizes.InnerRules, old.InboundRule, t.InboundRules); err != nil {
		return nil, err
	}
	if err = p.ways(sizes, old.PrefixPolicy); err != nil {
		return nil, err
	}
	p.refuseRows()
	p.waysImage()
	p.networks()
	return p.ordered(), nil
}

type planner struct {
	Plan
	m           *model.Model
	old         *compile.Image
	standing    *compile.Standing // nil if the target is of everything
	known       *compile.Standing // holds the tree of prefixes; nil if that is not known
	removeFirst bool
	report      *model.Report
}

func (p *planner) add(w Write) { p.Writes = append(p.Writes, w) }

// ordered puts the writes into the order of their phases, and gives the plan.
func (p *planner) ordered() *Plan {
	slices.SortStableFunc(p.Writes, func(a, b Write) int { return cmp.Compare(a.Phase, b.Phase) })
	p.drain()
	p.Shut = p.Shut || p.removeFirst || p.m.Changes.MayMissPolicies()
	return &p.Plan
}

func (p *planner) removePhase() phase {
	if p.removeFirst {
		return phaseEarlyRemove
	}
	return phaseRemove
}

func (p *planner) clearPhase() phase {
	if p.removeFirst {
		return phaseEarlyClear
	}
	return phaseClear
}

func (p *planner) hops(c transport.Chip, table regs.Table, dev string, image *map[int]compile.Hop) {
	want, have := p.Target.Hops[dev], p.old.Hops(dev)
	for _, index := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(want[index].Row, have[index].Row) {
			p.add(Write{Phase: phaseHops, Chip: c, Table: table, Index: index, Row: want[index].Row})
		}
	}
	for _, index := range slices.Sorted(maps.Keys(have)) {
		if _, stays := want[index]; !stays && len(have[index].Row) > 0 {
			phase := p.clearPhase()
			if p.old.Grouped(dev, index) {
				phase = phaseClear // the tree of prefixes may lead there until its root is written
			}
			p.add(Write{Phase: phase, Chip: c, Table: table, Index: index})
		}
	}
	*image = want
}

func (p *planner) keys(way xfrm.Dir, table regs.Table) {
	want := p.Image.Keys(way)
	for sa := range p.m.SAs.All() {
		if sa.Way == way {
			want.Add(sa.Row)
		}
	}
	p.newKeys(way, table)
	for row := range p.old.Keys(way).All() {
		if !want.Has(row) {
			p.add(Write{Phase: p.clearPhase(), Chip: transport.Crypto, Table: table, Index: row})
		}
	}
}

// newKeys writes the keys of new SAs.
func (p *planner) newKeys(way xfrm.Dir, table regs.Table) {
	for _, sa := range p.m.Changes.Added() {
		if sa.Way == way {
			p.add(Write{Phase: phaseKeys, Chip: transport.Crypto, Table: table, Index: sa.Row, Secret: sa})
		}
	}
}

// direct changes a directly indexed table to the wanted rows; it writes rows in always even if they
// are the same.
func (p *planner) direct(c transport.Chip, table regs.Table, have, want map[int]compile.Row, always map[int]bool) {
	rows := slices.Concat(slices.Collect(maps.Keys(have)), slices.Collect(maps.Keys(want)))
	slices.Sort(rows)
	p.some(c, table, have, want, slices.Compact(rows), always)
}

// some is direct for the rows of the table that are named.
func (p *planner) some(c transport.Chip, table regs.Table, have, want map[int]compile.Row, rows []int, always map[int]bool) {
	for _, index := range rows {
		switch row, wanted := want[index]; {
		case wanted && (!slices.Equal(row, have[index]) || always[index]):
			p.add(Write{Phase: phaseDirect, Chip: c, Table: table, Index: index, Row: row})
		case !wanted && have[index] != nil:
			p.add(Write{Phase: p.clearPhase(), Chip: c, Table: table, Index: index})
		}
	}
}

// freshInbound gives the rows of the new inbound SAs: their selector rows are written even if they
// look the same, because that starts their windows.
func (p *planner) freshInbound() map[int]bool {
	out := map[int]bool{}
	for _, sa := range p.m.Changes.Added() {
		if sa.Way == xfrm.DirIn {
			out[sa.Row] = true
		}
	}
	return out
}
