// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/plan"
)

// rowWriter writes rows in their order, many in one piece: an added row is certain to be on the
// chips only after flush.
type rowWriter struct {
	box    *chip.Box
	ivMask uint64
	alive  func()
	rows   []chip.Row
	keys   []compile.Row // those of the rows that hold keys
}

func (r *rowWriter) add(w plan.Write) error {
	row := w.Row
	if w.Secret != nil {
		var err error
		if row, err = compile.KeyRow(w.Secret, r.ivMask); err != nil {
			return err
		}
		r.keys = append(r.keys, row)
	}
	r.rows = append(r.rows, chip.Row{Chip: w.Chip, Table: w.Table, Index: w.Index, Words: row})
	if len(r.rows) < chip.MostRows {
		return nil
	}
	return r.flush()
}

func (r *rowWriter) flush() error {
	if len(r.rows) == 0 {
		return nil
	}
	err := r.box.WriteRows(r.rows)
	r.wipe()
	if err == nil && r.alive != nil {
		r.alive()
	}
	return err
}

// wipe forgets the rows that were not flushed, and their keys.
func (r *rowWriter) wipe() {
	for _, key := range r.keys {
		clear(key)
	}
	r.rows, r.keys = r.rows[:0], r.keys[:0]
}
