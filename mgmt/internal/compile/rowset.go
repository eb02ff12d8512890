// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"encoding/json"
	"iter"
	"math/bits"
	"slices"
)

// RowSet is a set of rows of a table, a bit each. The zero one is empty; its last word is never 0.
type RowSet struct{ words []uint64 }

func (s *RowSet) Has(row int) bool {
	return row/64 < len(s.words) && s.words[row/64]>>(row%64)&1 == 1
}

func (s *RowSet) Add(row int) {
	for row/64 >= len(s.words) {
		s.words = append(s.words, 0)
	}
	s.words[row/64] |= 1 << (row % 64)
}

func (s *RowSet) Remove(row int) {
	if s.Has(row) {
		s.words[row/64] &^= 1 << (row % 64)
	}
	for len(s.words) > 0 && s.words[len(s.words)-1] == 0 {
		s.words = s.words[:len(s.words)-1]
	}
	if len(s.words) == 0 {
		s.words = nil
	}
}

// Free is the first row from one on that is not in the set.
func (s *RowSet) Free(row int) int {
	for ; row/64 < len(s.words); row = row/64*64 + 64 {
		if free := ^s.words[row/64] >> (row % 64); free != 0 {
			return row + bits.TrailingZeros64(free)
		}
	}
	return row
}

// Len is how many rows are in it.
func (s *RowSet) Len() (n int) {
	for _, word := range s.words {
		n += bits.OnesCount64(word)
	}
	return n
}

// All gives the rows in their order.
func (s *RowSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s.words {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// Clone gives a set of its own.
func (s *RowSet) Clone() RowSet { return RowSet{slices.Clone(s.words)} }

// UnmarshalJSON reads a list of rows.
func (s *RowSet) UnmarshalJSON(text []byte) error {
	var rows []int
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	*s = RowSet{}
	for _, row := range rows {
		s.Add(row)
	}
	return nil
}
