// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"fmt"
	"slices"

	"sallyport/mgmt/internal/regs"
)

// maxHops is how many next hops share the packets of a prefix.
const maxHops = 4

// lastGroup is the last row of `hop_group` that a prefix can name; 0 names none.
const lastGroup = 255

// Hops is where the packets to a prefix go. The zero value is nowhere.
type Hops struct {
	rows      [maxHops]uint8
	count     uint8
	connected bool
}

// Connected sends packets to hosts of the port's own network.
func Connected() Hops { return Hops{connected: true} }

// Via shares packets among up to four rows of `next_hop`. Their order does not matter. A row that
// stands there twice gets twice as many flows.
func Via(rows ...uint8) (h Hops, err error) {
	if len(rows) == 0 || len(rows) > maxHops {
		return h, fmt.Errorf("a prefix has %d next hops: give 1 to %d", len(rows), maxHops)
	}
	h.count = uint8(copy(h.rows[:], rows))
	slices.Sort(h.rows[:h.count])
	return h, nil
}

// encode makes the row of `hop_group`.
func (h Hops) encode() []uint32 {
	f, row := regs.HopGroupRow, make([]uint32, words(regs.HopGroupRow.Bits))
	for n, field := range [maxHops]regs.Field{f.Hop0, f.Hop1, f.Hop2, f.Hop3} {
		field.Put(row, uint64(h.rows[n]))
	}
	if h.connected {
		f.Connected.Put(row, 1)
	} else {
		f.Last.Put(row, uint64(h.count-1))
	}
	f.Valid.Put(row, 1)
	return row
}

// decode reads a row of `hop_group`. One that is not valid is nowhere.
func decode(row []uint32) (h Hops) {
	f := regs.HopGroupRow
	if f.Valid.Get(row) == 0 {
		return h
	}
	if f.Connected.Get(row) == 1 {
		return Connected()
	}
	for n, field := range []regs.Field{f.Hop0, f.Hop1, f.Hop2, f.Hop3}[:f.Last.Get(row)+1] {
		h.rows[n] = uint8(field.Get(row))
		h.count++
	}
	return h
}

// hopGroups gives out the rows of `hop_group`: one for all prefixes that go to the same hops. Row 0
// is nowhere.
type hopGroups struct {
	row  map[Hops]uint8
	hops [lastGroup + 1]Hops // what each row says; nowhere if it is free
	uses [lastGroup + 1]int  // prefixes that name it
}

func newHopGroups() *hopGroups { return &hopGroups{row: map[Hops]uint8{{}: 0}} }

// take counts one more prefix with these hops. It gives their row, and what to write if it is new.
func (g *hopGroups) take(h Hops) (row uint8, writes Writes, err error) {
	row, known := g.row[h]
	if !known {
		free := slices.Index(g.hops[1:], Hops{})
		if free < 0 {
			return 0, nil, &FullError{fmt.Errorf(
				"all %d groups of next hops are in use: prefixes must go to fewer different sets of them", lastGroup)}
		}
		row = uint8(free + 1)
		g.row[h], g.hops[row] = row, h
		writes = Writes{{regs.InnerTableHopGroup, int(row), h.encode()}}
	}
	g.uses[row]++
	return row, writes, nil
}

// settle frees the rows that no prefix names: no look-up meets them once the roots are written.
func (g *hopGroups) settle() {
	for row := range g.hops {
		if g.uses[row] == 0 {
			g.forget(uint8(row))
		}
	}
}

// forget frees a row. Another one may say the same, if an earlier daemon wrote it, and keeps it.
func (g *hopGroups) forget(row uint8) {
	h := g.hops[row]
	if row != 0 && h != (Hops{}) && g.row[h] == row {
		delete(g.row, h)
	}
	g.hops[row] = Hops{}
}
