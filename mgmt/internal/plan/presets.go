// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// presetUsage starts the counts of new SAs and policies, before a packet meets them.
func (p *planner) presetUsage() {
	for _, sa := range p.m.Changes.Added() {
		p.add(Write{Phase: phaseDirect, Chip: transport.Inner, Table: compile.UsageTable(sa.Way), Index: sa.Row, Row: compile.SaUsageRow(sa)})
	}
	for _, policy := range p.m.Changes.AddedPolicies() {
		if policy.Usage != 0 {
			p.add(Write{Phase: phaseDirect, Chip: transport.Inner, Table: regs.InnerTablePolicyUsage, Index: policy.Usage})
		}
	}
}

// presetNumbers raises the numbers of new SAs that go on from others than 0, behind their keys and
// before a packet can meet them.
func (p *planner) presetNumbers() {
	for _, sa := range p.m.Changes.Added() {
		if number := max(sa.ReplaySeq, sa.ReplayOSeq); number != 0 {
			p.add(Write{Phase: phaseKeys, Chip: transport.Crypto, Table: compile.NumberTable(sa.Way), Index: sa.Row, Row: compile.NumberRow(number)})
		}
	}
}

// presetWindows writes the windows of new SAs that start behind other numbers than 0. No packet
// meets them until the selector row names them.
func (p *planner) presetWindows() {
	for _, sa := range p.m.Changes.Added() {
		if sa.Way != xfrm.DirIn || sa.ReplaySeq == 0 || p.Target.Selectors[sa.Row] == nil {
			continue
		}
		for number, window := range sa.WindowRows {
			for half := range 2 {
				p.add(Write{Phase: phaseDirect, Chip: transport.Inner, Table: regs.InnerTableReplay, Index: 2*window + half, Row: compile.PresetRow(sa.ReplaySeq, number, len(sa.WindowRows))})
			}
		}
	}
}

// keepWindows lets selector rows that are written again, or after a preset, keep the SA's window.
// The mark belongs to the write; rows of the image do not store it.
func (p *planner) keepWindows() {
	preset := map[int]bool{} // the rows of new SAs
	for _, sa := range p.m.Changes.Added() {
		if sa.Way == xfrm.DirIn {
			preset[sa.Row] = sa.ReplaySeq != 0
		}
	}
	keep := func(row int) bool {
		keeps, fresh := preset[row]
		sa := p.m.SAs.At(xfrm.DirIn, row)
		return keeps || !fresh && sa != nil && sa.Started
	}
	for i := range p.Writes {
		if w := &p.Writes[i]; w.Chip == transport.Inner && w.Table == regs.InnerTableSelector && len(w.Row) > 0 && keep(w.Index) {
			w.Row = slices.Clone(w.Row)
			regs.SelectorRow.WindowKeep.Put(w.Row, 1)
		}
	}
}

// dummies changes the table of dummies to the wanted rows. Like a flow, a row leads to an SA, whose
// other rows are written before it and removed after it.
func (p *planner) dummies(have map[int]compile.Row) {
	want := p.Target.Dummies
	for _, index := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(want[index], have[index]) {
			p.add(Write{Phase: PhaseInsert, Chip: transport.Inner, Table: regs.InnerTableDummy, Index: index, Row: want[index]})
		}
	}
	for _, index := range slices.Sorted(maps.Keys(have)) {
		if _, stays := want[index]; !stays {
			p.add(Write{Phase: p.removePhase(), Chip: transport.Inner, Table: regs.InnerTableDummy, Index: index})
		}
	}
	p.Image.Dummy = want
}
