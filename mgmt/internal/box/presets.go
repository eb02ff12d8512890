package box

import (
	"maps"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
	"slices"
)

// presetUsage starts the counts of new SAs and policies, before a packet meets them.
func (p *planner) presetUsage() {
	for _, sa := range p.m.SAs {
		if sa.fresh {
			p.add(write{phase: phaseDirect, chip: transport.Inner, table: usageTable(sa.Way), index: sa.Row, row: saUsageRow(sa)})
		}
	}
	for _, policy := range p.m.Policies {
		if policy.fresh && policy.Usage != 0 {
			p.add(write{phase: phaseDirect, chip: transport.Inner, table: regs.InnerTablePolicyUsage, index: policy.Usage})
		}
	}
}

// presetNumbers raises the numbers of new SAs that go on from others than 0, behind their keys and before a packet can meet them.
func (p *planner) presetNumbers() {
	for _, sa := range p.m.SAs {
		if number := max(sa.ReplaySeq, sa.ReplayOSeq); sa.fresh && number != 0 {
			p.add(write{phase: phaseKeys, chip: transport.Crypto, table: numberTable(sa.Way), index: sa.Row, row: numberRow(number)})
		}
	}
}

// presetWindows writes the windows of new SAs that start behind other numbers than 0. No packet meets them until the
// selector row names them.
func (p *planner) presetWindows() {
	for _, sa := range p.m.SAs {
		if sa.Way != xfrm.DirIn || !sa.fresh || sa.ReplaySeq == 0 || p.target.selectors[sa.Row] == nil {
			continue
		}
		for number, window := range sa.WindowRows {
			for half := range 2 {
				p.add(write{phase: phaseDirect, chip: transport.Inner, table: regs.InnerTableReplay, index: 2*window + half, row: presetRow(sa.ReplaySeq, number, len(sa.WindowRows))})
			}
		}
	}
}

// keepWindows lets selector rows that are written again, or after a preset, leave the SA's window as it is. The image
// has rows without the mark: it is of the write, not of the row.
func (p *planner) keepWindows() {
	keep := map[int]bool{}
	for _, sa := range p.m.SAs {
		if sa.Way == xfrm.DirIn {
			keep[sa.Row] = sa.Started && !sa.fresh || sa.ReplaySeq != 0 && sa.fresh
		}
	}
	for i := range p.writes {
		if w := &p.writes[i]; w.chip == transport.Inner && w.table == regs.InnerTableSelector && len(w.row) > 0 && keep[w.index] {
			w.row = slices.Clone(w.row)
			regs.SelectorRow.WindowKeep.Put(w.row, 1)
		}
	}
}

// dummies brings their table to hold what is wanted: like a flow, a row leads to an SA whose other rows are there before it and go after it.
func (p *planner) dummies(have map[int]Row) {
	want := p.target.dummies
	for _, index := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(want[index], have[index]) {
			p.add(write{phase: phaseInsert, chip: transport.Inner, table: regs.InnerTableDummy, index: index, row: want[index]})
		}
	}
	for _, index := range slices.Sorted(maps.Keys(have)) {
		if _, stays := want[index]; !stays {
			p.add(write{phase: p.removePhase(), chip: transport.Inner, table: regs.InnerTableDummy, index: index})
		}
	}
	p.image.Dummy = want
}
