// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// WindowRowSize is how many numbers a row of the inner chip's replay table speaks of.
const WindowRowSize = 1024

var windowFields = []regs.Field{regs.SelectorRow.WindowRow0, regs.SelectorRow.WindowRow1, regs.SelectorRow.WindowRow2, regs.SelectorRow.WindowRow3}

// windowRows is how many window rows a window takes.
func windowRows(window uint32) int {
	switch {
	case window == 0:
		return 0
	case window <= WindowRowSize:
		return 1
	case window <= 2*WindowRowSize:
		return 2
	}
	return 4
}

// rowsNamed gives the window rows that a selector row names.
func rowsNamed(row Row) (rows []int) {
	f := regs.SelectorRow
	if len(row) == 0 || f.Replay.Get(row) == 0 {
		return nil
	}
	for _, field := range windowFields[:windowRows(uint32(f.WindowSize.Get(row)))] {
		rows = append(rows, int(field.Get(row)))
	}
	return rows
}

// placeWindows gives each new inbound SA the lowest free window rows. They need not be neighbours,
// so an SA of any window finds room as long as there are rows.
func (c *compiler) placeWindows() error {
	taken := c.windowsTaken()
	next, used := 0, taken.Len()
	for _, sa := range c.m.Changes.Added() {
		if sa.Way != xfrm.DirIn {
			continue
		}
		sa.WindowRows = nil
		need, free := windowRows(sa.ReplayWindow), c.sizes.WindowRows-used
		if need > free {
			return &FullError{Err: xfrm.Errorf(sa.Pos, "no room for the replay-window of the inbound SA spi 0x%x: it takes %d rows of %d packets, and of %d rows %d are free", sa.SPI, need, WindowRowSize, c.sizes.WindowRows, free)}
		}
		for ; need > 0; need-- {
			next = taken.Free(next)
			taken.Add(next)
			used++
			sa.WindowRows = append(sa.WindowRows, next)
		}
	}
	return nil
}

// windowsTaken are the window rows that no new SA can have.
func (c *compiler) windowsTaken() RowSet {
	if c.standing != nil {
		return c.standing.windows.Clone()
	}
	var taken RowSet
	if !c.reuse {
		for _, row := range c.old.Selector {
			for _, window := range rowsNamed(row) {
				taken.Add(window)
			}
		}
	}
	for sa := range c.m.SAs.All() {
		if !sa.Fresh {
			for _, window := range sa.WindowRows {
				taken.Add(window)
			}
		}
	}
	return taken
}

// PresetRow gives either half of a window's row `number`, of so many rows, when every number up to
// top counts as received. The box does not know which of them were received, and to accept a
// received number as new would be a replay.
func PresetRow(top uint64, number, rows int) Row {
	f, row := regs.ReplayRow, newRow(regs.ReplayRow.Bits)
	for i := range f.Received.Width / 32 {
		row[f.Received.LSB/32+i] = ^uint32(0)
	}
	f.Last.Put(row, lastOfRow(top, uint64(number), uint64(rows)))
	f.Top.Put(row, top)
	return row
}

// lastOfRow is the last number up to top that is in row `number` of a ring of so many rows; 0 if
// there is none.
func lastOfRow(top, number, rows uint64) uint64 {
	block := top / WindowRowSize
	back := (block%rows + rows - number) % rows
	switch {
	case back == 0:
		return top
	case back > block:
		return 0
	}
	return (block-back)*WindowRowSize + WindowRowSize - 1
}
