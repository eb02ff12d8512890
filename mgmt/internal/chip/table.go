// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Row is one row to be written, whole. The words after the end of Words are zero.
type Row struct {
	Chip  transport.Chip
	Table regs.Table
	Index int
	Words []uint32
}

// MostRows go to the chips in one piece: enough that the way there costs little beside
// their accesses.
const MostRows = 256

// WriteRow writes one row.
func (b *Box) WriteRow(c transport.Chip, table regs.Table, index int, row []uint32) error {
	return b.WriteRows([]Row{{c, table, index, row}})
}

// WriteRows writes rows one after the other; each waits only for the rows before it. If the chip
// refuses one, WriteRows still writes the rows behind it.
func (b *Box) WriteRows(rows []Row) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ops []transport.Op
	defer func() { clear(ops[:cap(ops)]) }() // they may have carried a key
	size := 0
	for _, row := range rows {
		if len(row.Words) > row.Table.Words() {
			return fmt.Errorf("%s table %s: a row of %d words is longer than %d", row.Chip, row.Table.Name, len(row.Words), row.Table.Words())
		}
		size += row.Table.Words() + 4
	}
	ops = make([]transport.Op, 0, size) // never grown, which would leave keys behind
	cleared, ends := b.cleared, make([]int, len(rows))
	b.cleared = [len(b.cleared)]bool{}
	for n, row := range rows {
		ops = append(ops, transport.Write(row.Chip, regs.CommonTableSelect.Offset, row.Table.Number), transport.Write(row.Chip, regs.CommonTableIndex.Offset, uint32(row.Index)))
		for i := range row.Table.Words() {
			value := uint32(0)
			if i < len(row.Words) {
				value = row.Words[i]
			}
			if i == 0 || value != 0 || !cleared[row.Chip] { // word 0 begins the row
				ops = append(ops, transport.Write(row.Chip, regs.CommonTableData.Offset+uint32(4*i), value))
			}
		}
		ops = append(ops, transport.Write(row.Chip, regs.CommonTableCommand.Offset, regs.TableCommandWrite), untilDone(row.Chip))
		cleared[row.Chip] = true // the chip clears the shadow row after a write
		ends[n] = len(ops) - 1
	}
	if err := b.t.Do(ops); err != nil {
		return fmt.Errorf("write of %s table %s row %d%s: %w", rows[0].Chip, rows[0].Table.Name, rows[0].Index, behind(len(rows)-1), err)
	}
	for n, row := range rows {
		if err := done(row.Chip, row.Table, row.Index, "write", ops[ends[n]].Data); err != nil {
			return err
		}
	}
	b.cleared = cleared
	return nil
}

// behind says that an error may be of rows that followed the one it names.
func behind(rows int) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(" or one of %d behind it", rows)
}

// ReadRow reads one row of a table that is not write-only.
func (b *Box) ReadRow(c transport.Chip, table regs.Table, index int) ([]uint32, error) {
	rows, err := b.ReadRows(c, table, index, 1)
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// ReadRows reads `count` rows, from row `from` on, of a table that is not write-only. Each access
// is of one row; all go to the chip in one piece.
func (b *Box) ReadRows(c transport.Chip, table regs.Table, from, count int) ([][]uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cleared[c] = false
	const command = 4 // accesses before a row's words
	size := command + table.Words()
	ops := make([]transport.Op, 0, count*size)
	for index := from; index < from+count; index++ {
		ops = append(ops,
			transport.Write(c, regs.CommonTableSelect.Offset, table.Number),
			transport.Write(c, regs.CommonTableIndex.Offset, uint32(index)),
			transport.Write(c, regs.CommonTableCommand.Offset, regs.TableCommandRead),
			untilDone(c))
		for word := range table.Words() {
			ops = append(ops, transport.Read(c, regs.CommonTableData.Offset+uint32(4*word)))
		}
	}
	if err := b.t.Do(ops); err != nil {
		return nil, fmt.Errorf("read of %s table %s row %d%s: %w", c, table.Name, from, behind(count-1), err)
	}
	rows := make([][]uint32, count)
	for i := range rows {
		of := ops[i*size : (i+1)*size]
		if err := done(c, table, from+i, "read", of[command-1].Data); err != nil {
			return nil, err
		}
		for _, op := range of[command:] {
			rows[i] = append(rows[i], op.Data)
		}
	}
	return rows, nil
}

// untilDone waits for the end of a command.
func untilDone(c transport.Chip) transport.Op {
	return transport.ReadUntil(c, regs.CommonTableStatus.Offset, 1<<regs.CommonTableStatusBusy.LSB)
}

// done makes an error of the status at the end of a command, if it failed.
func done(c transport.Chip, table regs.Table, index int, verb string, status uint32) error {
	if regs.CommonTableStatusBusy.Get([]uint32{status}) != 0 {
		return fmt.Errorf("the %s chip: table %s stays busy with the %s of row %d", c, table.Name, verb, index)
	}
	if regs.CommonTableStatusError.Get([]uint32{status}) != 0 {
		return fmt.Errorf("the %s chip refused the %s of table %s row %d", c, verb, table.Name, index)
	}
	return nil
}
