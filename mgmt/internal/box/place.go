package box

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/cuckoo"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// hash brings a cuckoo table to hold what is wanted.
func (p *planner) hash(c transport.Chip, table regs.Table, size int, keyOf func(Row) string, have map[int]Row, want []placed) (map[int]Row, error) {
	shadow := cuckoo.New[Row](size)
	for index, row := range have {
		shadow.Load(index, keyOf(row), row)
	}
	keep := map[string]bool{}
	for _, entry := range want {
		keep[keyOf(entry.row)] = true
	}
	remove := func() {
		for _, index := range slices.Sorted(maps.Keys(have)) {
			if key := keyOf(have[index]); !keep[key] {
				w, _ := shadow.Remove(key)
				p.add(write{phase: p.removePhase(), chip: c, table: table, index: w.Index})
			}
		}
	}
	if p.removeFirst {
		remove()
	}
	for _, entry := range want {
		key := keyOf(entry.row)
		if _, row, there := shadow.Get(key); there && slices.Equal(row, entry.row) {
			continue
		}
		writes, err := shadow.Put(key, entry.row)
		if err != nil {
			return nil, &fullError{xfrm.Errorf(entry.pos, "no room for %s: the %s table of %d rows is full (%d are used)", entry.owner, table.Name, size, len(shadow.Rows()))}
		}
		for _, w := range writes {
			p.add(write{phase: phaseInsert, chip: c, table: table, index: w.Index, row: w.Value})
		}
	}
	if !p.removeFirst {
		remove()
	}
	image := map[int]Row{}
	for index, entry := range shadow.Rows() {
		image[index] = entry.Value
	}
	return image, nil
}
