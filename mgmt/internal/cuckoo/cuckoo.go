// SPDX-License-Identifier: Apache-2.0

// Package cuckoo places entries in the chips' four-way hash tables (docs/reference/tables.md). It
// works on a copy. It returns the writes in an order in which no lookup on the chip misses a stored
// entry.
package cuckoo

import (
	"errors"
	"hash/crc32"
)

// Ways is the number of places an entry may take.
const Ways = 4

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	koopman    = crc32.MakeTable(crc32.Koopman)
)

// ErrFull says that no sequence of moves makes room.
var ErrFull = errors.New("the table is full")

// searchLimit bounds the rows looked at for one insertion.
const searchLimit = 8192

// Entry is a key and its value.
type Entry[V any] struct {
	Key   string
	Value V
}

// Write is one row to be written; Valid false clears it.
type Write[V any] struct {
	Index int
	Valid bool
	Entry[V]
}

// Table is a hash table as a change makes it of what the chip holds.
type Table[V any] struct {
	rowsPerWay uint32
	base       func(index int) (Entry[V], bool)
	rows       map[int]*Entry[V] // that differ from the chip's; nil is free
}

// New makes the table of the given number of rows, which must be a multiple of Ways, of what `base`
// says that the chip holds, each entry in one of its places.
func New[V any](rows int, base func(index int) (Entry[V], bool)) *Table[V] {
	return &Table[V]{uint32(rows / Ways), base, map[int]*Entry[V]{}}
}

// at gives the entry of a row.
func (t *Table[V]) at(index int) (Entry[V], bool) {
	if entry, changed := t.rows[index]; changed {
		if entry == nil {
			return Entry[V]{}, false
		}
		return *entry, true
	}
	return t.base(index)
}

// Places returns the table index of a key in each way.
func Places(key string, rowsPerWay uint32) [Ways]int {
	c, k := crc32.Checksum([]byte(key), castagnoli), crc32.Checksum([]byte(key), koopman)
	var out [Ways]int
	for way, hash := range [Ways]uint32{c, c >> 16, k, k >> 16} {
		out[way] = way*int(rowsPerWay) + int(hash%rowsPerWay)
	}
	return out
}

// Get finds a key.
func (t *Table[V]) Get(key string) (index int, value V, ok bool) {
	for _, index := range Places(key, t.rowsPerWay) {
		if entry, used := t.at(index); used && entry.Key == key {
			return index, entry.Value, true
		}
	}
	return 0, value, false
}

// Put stores a value under a key: in place if the table has the key, else in a free row, else by
// moving others along the shortest chain. Each moved entry is written to its new row before its old
// row is overwritten.
func (t *Table[V]) Put(key string, value V) ([]Write[V], error) {
	if index, _, ok := t.Get(key); ok {
		return []Write[V]{t.set(index, Entry[V]{key, value})}, nil
	}
	chain, err := t.chain(key)
	if err != nil {
		return nil, err
	}
	var writes []Write[V]
	for i := len(chain) - 1; i > 0; i-- {
		entry, _ := t.at(chain[i-1])
		writes = append(writes, t.set(chain[i], entry))
	}
	return append(writes, t.set(chain[0], Entry[V]{key, value})), nil
}

// Remove clears a key's row; ok is false if it is not there.
func (t *Table[V]) Remove(key string) (w Write[V], ok bool) {
	index, _, ok := t.Get(key)
	if ok {
		t.rows[index] = nil
	}
	return Write[V]{Index: index, Entry: Entry[V]{Key: key}}, ok
}

func (t *Table[V]) set(index int, entry Entry[V]) Write[V] {
	t.rows[index] = &entry
	return Write[V]{Index: index, Valid: true, Entry: entry}
}

// chain searches, breadth first, rows r0 … rn: r0 is a place of the key, r(i+1) another place of
// the entry in r(i), rn is free.
func (t *Table[V]) chain(key string) ([]int, error) {
	from := map[int]int{}
	var queue []int
	visit := func(key string, parent int) (free int, found bool) {
		for _, index := range Places(key, t.rowsPerWay) {
			if _, seen := from[index]; seen {
				continue
			}
			from[index] = parent
			if _, taken := t.at(index); !taken {
				return index, true
			}
			queue = append(queue, index)
		}
		return 0, false
	}
	free, found := visit(key, -1)
	for head := 0; !found && head < len(queue) && len(from) < searchLimit; head++ {
		entry, _ := t.at(queue[head])
		free, found = visit(entry.Key, queue[head])
	}
	if !found {
		return nil, ErrFull
	}
	var chain []int
	for index := free; index >= 0; index = from[index] {
		chain = append([]int{index}, chain...)
	}
	return chain, nil
}
