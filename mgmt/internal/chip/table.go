package chip

import (
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// WriteRow writes one row, whole. The words after the end of row are zero.
func (b *Box) WriteRow(c transport.Chip, table regs.Table, index int, row []uint32) error {
	words := table.Words()
	if len(row) > words {
		return fmt.Errorf("%s table %s: a row of %d words is longer than %d", c, table.Name, len(row), words)
	}
	ops := make([]transport.Op, 0, regs.CommonTableData.Count+4)
	defer clear(ops[:cap(ops)]) // they may have carried a key
	ops = append(ops, transport.Write(c, regs.CommonTableSelect.Offset, table.Number), transport.Write(c, regs.CommonTableIndex.Offset, uint32(index)))
	for i := range regs.CommonTableData.Count {
		value := uint32(0)
		if i < len(row) {
			value = row[i]
		}
		if value != 0 || !b.cleared[c] && i < words {
			ops = append(ops, transport.Write(c, regs.CommonTableData.Offset+uint32(4*i), value))
		}
	}
	b.cleared[c] = false
	ops = append(ops, transport.Write(c, regs.CommonTableCommand.Offset, regs.TableCommandWrite))
	if err := b.command(c, table, index, "write", ops); err != nil {
		return err
	}
	b.cleared[c] = true // the chip clears the shadow row after a write
	return nil
}

// ReadRow reads one row of a table that is not write-only.
func (b *Box) ReadRow(c transport.Chip, table regs.Table, index int) ([]uint32, error) {
	b.cleared[c] = false
	err := b.command(c, table, index, "read", []transport.Op{
		transport.Write(c, regs.CommonTableSelect.Offset, table.Number),
		transport.Write(c, regs.CommonTableIndex.Offset, uint32(index)),
		transport.Write(c, regs.CommonTableCommand.Offset, regs.TableCommandRead),
	})
	if err != nil {
		return nil, err
	}
	ops := make([]transport.Op, table.Words())
	for i := range ops {
		ops[i] = transport.Read(c, regs.CommonTableData.Offset+uint32(4*i))
	}
	if err := b.t.Do(ops); err != nil {
		return nil, err
	}
	row := make([]uint32, len(ops))
	for i, op := range ops {
		row[i] = op.Data
	}
	return row, nil
}

// command sends the accesses that end in a command and waits for its end.
func (b *Box) command(c transport.Chip, table regs.Table, index int, verb string, ops []transport.Op) error {
	ops = append(ops, transport.Read(c, regs.CommonTableStatus.Offset))
	if err := b.t.Do(ops); err != nil {
		return fmt.Errorf("%s of %s table %s row %d: %w", verb, c, table.Name, index, err)
	}
	status := ops[len(ops)-1].Data
	busy := func(v uint32) bool { return regs.CommonTableStatusBusy.Get([]uint32{v}) != 0 }
	if busy(status) {
		var err error
		status, err = b.poll(c, regs.CommonTableStatus, "table "+table.Name+" stays busy", func(v uint32) bool { return !busy(v) })
		if err != nil {
			return err
		}
	}
	if regs.CommonTableStatusError.Get([]uint32{status}) != 0 {
		return fmt.Errorf("the %s chip refused the %s of table %s row %d", c, verb, table.Name, index)
	}
	return nil
}
