// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// rowAt is the place of a row.
type rowAt struct {
	chip  transport.Chip
	table string
	index int
}

// Flip flips a bit of a row, as it is looked up and as software reads it. Bit RowBits of the table
// is its check bit, which software cannot read. The row is wrong until software writes it.
func (b *Box) Flip(c transport.Chip, t regs.Table, index, bit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := b.chips[c].tables[t.Number]
	if bit < t.RowBits {
		row := slices.Clone(rows[index])
		if row == nil {
			row = make([]uint32, t.Words())
		}
		row[bit/32] ^= 1 << (bit % 32)
		rows[index] = row
	}
	if b.flipped == nil {
		b.flipped = map[rowAt]bool{}
	}
	b.flipped[rowAt{c, t.Name, index}] = true
}

// Meet is a look-up that reads a row: the chip counts it, if its tables have check bits and the row
// is wrong.
func (b *Box) Meet(c transport.Chip, t regs.Table, index int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.flipped[rowAt{c, t.Name, index}] {
		return
	}
	for i, counter := range counters[c] {
		if counter.Name == t.Name+"_row_upset" {
			b.chips[c].counters[i]++
		}
	}
}
