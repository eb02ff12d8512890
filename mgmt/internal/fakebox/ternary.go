// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"fmt"
	"maps"
	"slices"

	"sallyport/mgmt/internal/regs"
)

// Ternary is a rule table as the chips have it, by row (docs/reference/tables.md).
type Ternary map[int][]uint32

// First is the row that answers where some rows match: the lowest, whatever its priority.
func (t Ternary) First(matches func([]uint32) bool) []uint32 {
	for _, index := range slices.Sorted(maps.Keys(t)) {
		if matches(t[index]) {
			return t[index]
		}
	}
	return nil
}

// Write writes a row, and checks every state that a lookup can meet from now on. If a row becomes
// valid, or its value or mask changes, one such state is the table without it.
func (t Ternary) Write(index int, row []uint32, look func()) {
	if isZero(row) {
		delete(t, index)
	} else {
		if old, valid := t[index]; !valid || condition(old) != condition(row) {
			delete(t, index)
			look()
		}
		t[index] = row
	}
	look()
}

// condition is the value and mask of a row.
func condition(row []uint32) string {
	f, row := regs.RuleRow, slices.Clone(row)
	// The result stands between them, and begins with `sa` in the middle of a word.
	f.Sa.Put(row, 0)
	clear(row[f.Priority.LSB/32 : f.SrcMask.LSB/32])
	return fmt.Sprint(row)
}

// Matches says whether a packet with such a key, in the words of a row's low bits, is one of
// a row's.
func Matches(row, key []uint32) bool {
	for i, word := range key {
		mask := regs.Field{LSB: regs.RuleRow.SrcMask.LSB + 32*i, Width: 32}
		if uint64(word^row[i])&mask.Get(row) != 0 {
			return false
		}
	}
	return true
}

func isZero(row []uint32) bool {
	return !slices.ContainsFunc(row, func(w uint32) bool { return w != 0 })
}
