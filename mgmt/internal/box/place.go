package box

import (
	"cmp"
	"slices"

	"sallyport/mgmt/internal/cuckoo"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// hash brings a cuckoo table to hold what is wanted.
func (p *planner) hash(c transport.Chip, table regs.Table, size, keyBytes int, have map[int]Row, want []placed) (map[int]Row, error) {
	shadow := cuckoo.New[Row](size)
	for index, row := range have {
		shadow.Load(index, row.key(keyBytes), row)
	}
	keep := map[string]bool{}
	for _, entry := range want {
		keep[entry.row.key(keyBytes)] = true
	}
	remove := func() {
		for _, index := range sorted(have) {
			if key := have[index].key(keyBytes); !keep[key] {
				w, _ := shadow.Remove(key)
				p.add(write{phase: p.removePhase(), chip: c, table: table, index: w.Index})
			}
		}
	}
	if p.removeFirst {
		remove()
	}
	for _, entry := range want {
		key := entry.row.key(keyBytes)
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

// rules brings a ternary table to hold what is wanted. A rule keeps its row; of two with one priority the older has the
// lower row, as the chip and Linux both give way to it.
func (p *planner) rules(c transport.Chip, table regs.Table, size int, have map[int]Rule, want []placed) (map[int]Rule, error) {
	want = slices.Clone(want)
	slices.SortFunc(want, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.age, b.age))
	})
	owned := map[string]int{}
	for index, rule := range have {
		owned[rule.Owner] = index
	}
	image := map[int]Rule{}
	place := map[string]int{}
	taken := func(index int) bool {
		if _, now := image[index]; now {
			return true
		}
		rule, before := have[index]
		if !before {
			return false
		}
		stays := slices.ContainsFunc(want, func(w placed) bool { return w.owner == rule.Owner })
		return stays || !p.removeFirst
	}
	for i, rule := range want {
		least := 0
		for _, other := range want[:i] {
			if other.priority == rule.priority && other.sel.Overlaps(rule.sel) {
				least = max(least, place[other.owner]+1)
			}
		}
		index, ok := owned[rule.owner]
		if !ok || index < least {
			for index = least; index < size && taken(index); index++ {
			}
		}
		if index >= size {
			return nil, &fullError{xfrm.Errorf(rule.pos, "no room for the policy %s: the table of %d rules of the %s chip is full (policies for one exact 5-tuple do not need a rule)", rule.owner, size, c)}
		}
		place[rule.owner] = index
		image[index] = Rule{rule.owner, rule.row}
	}
	for _, index := range sorted(image) {
		if !slices.Equal(image[index].Row, have[index].Row) {
			p.add(write{phase: phaseInsert, chip: c, table: table, index: index, row: image[index].Row})
		}
	}
	for _, index := range sorted(have) {
		if _, stays := image[index]; !stays {
			p.add(write{phase: p.removePhase(), chip: c, table: table, index: index})
		}
	}
	return image, nil
}
