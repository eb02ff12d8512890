package box

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Hop is a next-hop row and whose it is; row 0 belongs to no address. An empty Row is not valid on the chip.
type Hop struct {
	IP  netip.Addr `json:"ip"`
	Row Row        `json:"row"`
}

// Rule is a ternary row and what it stands for: a selector, or a part of one with ranges.
type Rule struct {
	Owner string `json:"owner"`
	Part  int    `json:"part,omitempty"`
	Row   Row    `json:"row"`
}

// Image is what the chips' tables hold. Of key tables it knows only which rows are in use.
type Image struct {
	Flow      map[int]Row  `json:"flow"`
	SAD       map[int]Row  `json:"sad"`
	InnerRule map[int]Rule `json:"inner_rule"`
	OuterRule map[int]Rule `json:"outer_rule"`
	// InboundRule are the selector sets of inbound SAs that have several.
	InboundRule map[int]Rule `json:"inbound_rule,omitempty"`
	Selector    map[int]Row  `json:"selector"`
	Tunnel      map[int]Row  `json:"tunnel"`
	Dummy       map[int]Row  `json:"dummy,omitempty"`
	DSCPMap     map[int]Row  `json:"dscp_map,omitempty"`
	DSCPSA      map[int]Row  `json:"dscp_sa,omitempty"`
	RedHop      map[int]Hop  `json:"red_hop"`
	BlackHop    map[int]Hop  `json:"black_hop"`
	OutKeys     []int        `json:"out_keys"`
	InKeys      []int        `json:"in_keys"`
}

// NewImage is the tables after reset.
func NewImage() *Image { return &Image{} }

func (i *Image) keys(way xfrm.Dir) *[]int {
	if way == xfrm.DirOut {
		return &i.OutKeys
	}
	return &i.InKeys
}

func (i *Image) hops(dev string) map[int]Hop {
	if dev == xfrm.Red {
		return i.RedHop
	}
	return i.BlackHop
}

// phase orders the writes of a plan so that traffic never meets half of a change: whatever a lookup can lead to is there
// before the lookup finds it, and goes after the lookup no longer does.
type phase int

const (
	phaseEarlyRemove phase = iota // when old rows must go to make room
	phaseEarlyClear
	phaseHops
	phaseKeys
	phaseSets // rules that inbound SAs' rows lead to
	phaseDirect
	phaseInsert
	phaseRemove // and rules that move down their table
	phaseClear
)

// write is one row to be written. An empty Row clears it.
type write struct {
	phase   phase
	chip    transport.Chip
	table   regs.Table
	index   int
	row     Row
	secret  *SA  // the row is made of this SA's key when it is written
	drained bool // it waits until the box has sent what had passed the look-ups
}

// plan is everything a change does to the tables.
type plan struct {
	writes []write
	image  *Image
	target *target
}

// makePlan compares the tables with the model. Nothing is written yet; every capacity is checked. New entries go in before old
// ones leave, unless the tables are too full for that.
func makePlan(m *Model, old *Image, sizes Sizes, r *report) (*plan, error) {
	if err := m.checkBridge(); err != nil {
		return nil, err
	}
	if err := m.direct(r); err != nil {
		return nil, err
	}
	first := &report{}
	p, err := planOnce(m, old, sizes, false, first)
	if full := (*fullError)(nil); errors.As(err, &full) {
		first = &report{}
		p, err = planOnce(m, old, sizes, true, first)
		if errors.As(err, &full) {
			err = full.error
		}
	}
	r.warnings = append(r.warnings, first.warnings...)
	return p, err
}

func planOnce(m *Model, old *Image, sizes Sizes, removeFirst bool, r *report) (*plan, error) {
	t, err := compile(m, old, sizes, removeFirst, r)
	if err != nil {
		return nil, err
	}
	p := &planner{plan: plan{image: &Image{}, target: t}, m: m, old: old, removeFirst: removeFirst, report: r}
	if removeFirst {
		old = p.detach()
	}
	p.hops(transport.Inner, regs.InnerTableNextHop, xfrm.Red, &p.image.RedHop)
	p.hops(transport.Outer, regs.OuterTableNextHop, xfrm.Black, &p.image.BlackHop)
	p.keys(xfrm.DirOut, regs.CryptoTableOutboundKey)
	p.keys(xfrm.DirIn, regs.CryptoTableInboundKey)
	p.presetNumbers()
	p.direct(transport.Outer, regs.OuterTableDscpMap, old.DSCPMap, t.dscpMap, nil)
	p.direct(transport.Inner, regs.InnerTableDscpSa, old.DSCPSA, t.dscpSA, nil)
	p.image.DSCPMap, p.image.DSCPSA = t.dscpMap, t.dscpSA
	p.direct(transport.Outer, regs.OuterTableTunnel, old.Tunnel, t.tunnels, nil)
	p.presetWindows()
	p.presetUsage()
	p.direct(transport.Inner, regs.InnerTableSelector, old.Selector, t.selectors, p.freshInbound())
	p.keepWindows()
	p.image.Tunnel, p.image.Selector = t.tunnels, t.selectors
	p.dummies(old.Dummy)
	if p.image.SAD, err = p.hash(transport.Outer, regs.OuterTableSad, sizes.SADRows, sadKey, old.SAD, t.sad); err != nil {
		return nil, err
	}
	if p.image.Flow, err = p.hash(transport.Inner, regs.InnerTableFlow, sizes.FlowRows, flowKey, old.Flow, t.flows); err != nil {
		return nil, err
	}
	if p.image.OuterRule, err = p.rules(transport.Outer, regs.OuterTableRule, sizes.OuterRules, old.OuterRule, t.outerRules); err != nil {
		return nil, err
	}
	if p.image.InnerRule, err = p.rules(transport.Inner, regs.InnerTableRule, sizes.InnerRules, old.InnerRule, t.innerRules); err != nil {
		return nil, err
	}
	if p.image.InboundRule, err = p.rules(transport.Inner, regs.InnerTableInboundRule, sizes.InnerRules, old.InboundRule, t.inboundRules); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.writes, func(a, b write) int { return cmp.Compare(a.phase, b.phase) })
	p.drain()
	return &p.plan, nil
}

type planner struct {
	plan
	m           *Model
	old         *Image
	removeFirst bool
	report      *report
}

func (p *planner) add(w write) { p.writes = append(p.writes, w) }

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

func (p *planner) hops(c transport.Chip, table regs.Table, dev string, image *map[int]Hop) {
	want, have := p.target.hops[dev], p.old.hops(dev)
	for _, index := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(want[index].Row, have[index].Row) {
			p.add(write{phase: phaseHops, chip: c, table: table, index: index, row: want[index].Row})
		}
	}
	for _, index := range slices.Sorted(maps.Keys(have)) {
		if _, stays := want[index]; !stays && len(have[index].Row) > 0 {
			p.add(write{phase: p.clearPhase(), chip: c, table: table, index: index})
		}
	}
	*image = want
}

func (p *planner) keys(way xfrm.Dir, table regs.Table) {
	want := map[int]bool{}
	for _, sa := range p.m.SAs {
		if sa.Way != way {
			continue
		}
		want[sa.Row] = true
		if sa.fresh {
			p.add(write{phase: phaseKeys, chip: transport.Crypto, table: table, index: sa.Row, secret: sa})
		}
	}
	for _, row := range *p.old.keys(way) {
		if !want[row] {
			p.add(write{phase: p.clearPhase(), chip: transport.Crypto, table: table, index: row})
		}
	}
	*p.image.keys(way) = slices.Sorted(maps.Keys(want))
}

// direct brings a directly indexed table to hold what is wanted; rows in always are written even if they are the same.
func (p *planner) direct(c transport.Chip, table regs.Table, have, want map[int]Row, always map[int]bool) {
	for _, index := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(want[index], have[index]) || always[index] {
			p.add(write{phase: phaseDirect, chip: c, table: table, index: index, row: want[index]})
		}
	}
	for _, index := range slices.Sorted(maps.Keys(have)) {
		if _, stays := want[index]; !stays {
			p.add(write{phase: p.clearPhase(), chip: c, table: table, index: index})
		}
	}
}

// freshInbound gives the rows of the new inbound SAs: their selector rows are written even if they look the same, because
// that starts their windows.
func (p *planner) freshInbound() map[int]bool {
	out := map[int]bool{}
	for _, sa := range p.m.SAs {
		if sa.Way == xfrm.DirIn && sa.fresh {
			out[sa.Row] = true
		}
	}
	return out
}
