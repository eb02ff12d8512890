package box

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/regs"
)

// ternary is a rule table as the chips have it, by row (docs/reference/interfaces.md, section 4).
type ternary map[int][]uint32

// first is the row that answers where some rows match: the lowest, whatever its priority.
func (t ternary) first(matches func([]uint32) bool) []uint32 {
	for _, index := range slices.Sorted(maps.Keys(t)) {
		if matches(t[index]) {
			return t[index]
		}
	}
	return nil
}

// write writes a row, and looks at every state that a lookup can meet from now on: of a row that becomes valid, or whose
// value or mask changes, one without it as well.
func (t ternary) write(index int, row []uint32, look func()) {
	if isZero(row) {
		delete(t, index)
	} else {
		if old, valid := t[index]; !valid || !slices.Equal(condition(old), condition(row)) {
			delete(t, index)
			look()
		}
		t[index] = row
	}
	look()
}

// condition is the value and mask of a row.
func condition(row []uint32) []byte {
	f, row := regs.RuleRow, slices.Clone(row)
	for _, result := range []regs.Field{f.Sa, f.Priority, f.Valid, f.Action, f.Mtu, f.Fragment, f.Usage} {
		result.Put(row, 0)
	}
	return rowBytes(row)
}

// matches says whether a packet with such a key, in the words of a row's low bits, is one of a row's.
func matches(row, key []uint32) bool {
	for i, word := range key {
		if (word^row[i])&row[i+regs.RuleRow.SrcMask.LSB/32] != 0 {
			return false
		}
	}
	return true
}
