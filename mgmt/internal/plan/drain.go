// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// DrainTime is how long packets that have passed a look-up may be under way to the row that it
// gave: two link buffers of 32 KiB leave at 1 Gb/s in half of it.
const DrainTime = time.Millisecond

// drain marks the writes before which the box must send all packets that have passed the look-ups.
// These are the first write behind freed rows, and the first that clears a row to which flows and
// rules led until this change.
func (p *planner) drain() {
	freed := slices.ContainsFunc(p.Writes, func(w Write) bool { return w.Phase > phaseApart && w.Phase < phaseHops })
	apart := len(p.Writes) > 0 && p.Writes[0].Phase == phaseApart
	first := func(from phase) *Write {
		n := slices.IndexFunc(p.Writes, func(w Write) bool { return w.Phase >= from })
		if n < 0 {
			return &Write{}
		}
		return &p.Writes[n]
	}
	first(phaseHops).Drained = freed
	if apart {
		first(phaseApart + 1).Drained = true
	}
	if p.clearsUsed() {
		first(phaseClear).Drained = true
	}
}

// flows are those on the chip that are to be looked at, and the policies by prefix. Those of blocks
// are there where SAs are by DSCP, which are planned with everything.
func (p *planner) flows() []map[int]compile.Row {
	if p.standing != nil {
		return nil
	}
	return []map[int]compile.Row{p.old.Flow, p.old.PrefixPolicy}
}

// clearsUsed reports whether the last clears include the row of an outbound SA or next hop to which
// flows or rules led until this change. Packets on their way need such a row.
func (p *planner) clearsUsed() bool {
	sas, red, black := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, w := range p.Writes {
		if w.Phase != phaseClear {
			continue
		}
		switch {
		case w.Chip == transport.Crypto && w.Table.Name == regs.CryptoTableOutboundKey.Name:
			sas[w.Index] = true
		case w.Chip == transport.Inner && w.Table.Name == regs.InnerTableNextHop.Name:
			red[w.Index] = true
		case w.Chip == transport.Outer && w.Table.Name == regs.OuterTableNextHop.Name:
			black[w.Index] = true
		}
	}
	if p.standing != nil {
		for row := range sas {
			if p.standing.Protects(row) {
				return true
			}
		}
		for row := range black {
			if p.standing.Bypasses(row) {
				return true
			}
		}
	}
	blocks := p.old.BlocksOf(sas)
	leads := func(row compile.Row, change func(compile.Row) compile.Row) bool {
		return !slices.Equal(change(row), row)
	}
	for _, rows := range p.flows() {
		for _, row := range rows {
			if leads(row, discarding(sas, blocks, black)) {
				return true
			}
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
