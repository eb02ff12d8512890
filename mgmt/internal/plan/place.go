// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/cuckoo"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// hash changes a cuckoo table to the wanted entries.
func (p *planner) hash(c transport.Chip, table regs.Table, size int, keyOf func(compile.Row) string, have map[int]compile.Row, want []compile.Placed) (map[int]compile.Row, error) {
	shadow := cuckoo.New[compile.Row](size)
	for index, row := range have {
		shadow.Load(index, keyOf(row), row)
	}
	keep := map[string]bool{}
	for _, entry := range want {
		keep[keyOf(entry.Row)] = true
	}
	remove := func() {
		for _, index := range slices.Sorted(maps.Keys(have)) {
			if key := keyOf(have[index]); !keep[key] {
				w, _ := shadow.Remove(key)
				p.add(Write{Phase: p.removePhase(), Chip: c, Table: table, Index: w.Index})
			}
		}
	}
	if p.removeFirst {
		remove()
	}
	for _, entry := range want {
		key := keyOf(entry.Row)
		if _, row, there := shadow.Get(key); there && slices.Equal(row, entry.Row) {
			continue
		}
		writes, err := shadow.Put(key, entry.Row)
		if err != nil {
			return nil, &compile.FullError{Err: xfrm.Errorf(entry.Pos, "no room for %s: the %s table of %d rows is full (%d are used)", entry.Owner, table.Name, size, len(shadow.Rows()))}
		}
		for _, w := range writes {
			p.add(Write{Phase: PhaseInsert, Chip: c, Table: table, Index: w.Index, Row: w.Value})
		}
	}
	if !p.removeFirst {
		remove()
	}
	image := map[int]compile.Row{}
	for index, entry := range shadow.Rows() {
		image[index] = entry.Value
	}
	return image, nil
}
