package box

import (
	"slices"
	"time"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// drainTime is how long packets that have passed a look-up may be under way to the row that it gave: two link buffers of 32 KiB leave at
// 1 Gb/s in half of it.
const drainTime = time.Millisecond

// drain marks the writes before which the box has to send what had passed the look-ups: the first behind rows that were freed, and the
// first that clears what flows and rules led to until this change.
func (p *planner) drain() {
	freed := len(p.writes) > 0 && p.writes[0].phase < phaseHops
	first := func(from phase) *write {
		n := slices.IndexFunc(p.writes, func(w write) bool { return w.phase >= from })
		if n < 0 {
			return &write{}
		}
		return &p.writes[n]
	}
	first(phaseHops).drained = freed
	if p.clearsUsed() {
		first(phaseClear).drained = true
	}
}

// clearsUsed says whether flows or rules led to an outbound SA or next hop, up to this change, whose row is cleared last: packets
// that they have sent on their way need it.
func (p *planner) clearsUsed() bool {
	sas, red, black := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, w := range p.writes {
		if w.phase != phaseClear {
			continue
		}
		switch {
		case w.chip == transport.Crypto && w.table.Name == regs.CryptoTableOutboundKey.Name:
			sas[w.index] = true
		case w.chip == transport.Inner && w.table.Name == regs.InnerTableNextHop.Name:
			red[w.index] = true
		case w.chip == transport.Outer && w.table.Name == regs.OuterTableNextHop.Name:
			black[w.index] = true
		}
	}
	blocks := p.old.blocksOf(sas)
	leads := func(row Row, change func(Row) Row) bool { return !slices.Equal(change(row), row) }
	for _, row := range p.old.Flow {
		if leads(row, discarding(sas, blocks, black)) {
			return true
		}
	}
	for _, rule := range p.old.InnerRule {
		if leads(rule.Row, discarding(sas, blocks, black)) {
			return true
		}
	}
	for _, row := range p.old.Dummy {
		if sas[int(regs.DummyRow.Sa.Get(row))] {
			return true
		}
	}
	for _, rule := range p.old.OuterRule {
		if leads(rule.Row, discarding(nil, nil, red)) {
			return true
		}
	}
	return false
}
