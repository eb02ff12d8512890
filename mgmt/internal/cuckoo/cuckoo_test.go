// SPDX-License-Identifier: Apache-2.0

package cuckoo

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestHashes holds the two polynomials against published check values (RFC 3720 B.4 for CRC-32C,
// the CRC catalogue's "123456789" for both).
func TestHashes(t *testing.T) {
	if got := crc32.Checksum([]byte("123456789"), castagnoli); got != 0xE3069283 {
		t.Errorf("CRC-32C = %#x", got)
	}
	if got := crc32.Checksum(make([]byte, 32), castagnoli); got != 0x8A9136AA {
		t.Errorf("CRC-32C of 32 zero bytes = %#x", got)
	}
	if got := crc32.Checksum([]byte("123456789"), koopman); got != 0x2D3DD0AE {
		t.Errorf("CRC-32K = %#x", got)
	}
}

// bitwise is a CRC straight from its definition.
func bitwise(data string, reflected uint32) uint32 {
	crc := ^uint32(0)
	for _, b := range []byte(data) {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ reflected&-(crc&1)
		}
	}
	return ^crc
}

func TestPlaces(t *testing.T) {
	const rows = 16
	for i := range 100 {
		key := fmt.Sprintf("key %d", i)
		c, k := bitwise(key, 0x82F63B78), bitwise(key, 0xEB31D82E)
		want := [Ways]int{int(c % rows), rows + int(c>>16%rows), 2*rows + int(k%rows), 3*rows + int(k>>16%rows)}
		if got := Places(key, rows); got != want {
			t.Fatalf("Places(%q) = %v, want %v", key, got, want)
		}
	}
}

// chip replays writes as hardware sees them.
type chip struct {
	rows map[int]string
	per  uint32
}

func (c chip) has(key string) bool {
	for _, index := range Places(key, c.per) {
		if c.rows[index] == key {
			return true
		}
	}
	return false
}

// empty is a chip without entries.
func empty(int) (Entry[int], bool) { return Entry[int]{}, false }

// TestNoLookupIsLost fills a table until it is full; after every single write every key that was
// ever stored is found.
func TestNoLookupIsLost(t *testing.T) {
	const rows = 256
	table := New(rows, empty)
	hw := chip{map[int]string{}, rows / Ways}
	random := rand.New(rand.NewPCG(1, 2))
	var stored []string
	moves := 0
	for {
		key := fmt.Sprintf("%016x", random.Uint64())
		writes, err := table.Put(key, len(stored))
		if errors.Is(err, ErrFull) {
			break
		}
		moves += len(writes) - 1
		for _, w := range writes {
			hw.rows[w.Index] = w.Key
			for _, k := range stored {
				if !hw.has(k) {
					t.Fatalf("after a write of row %d the key %s is lost", w.Index, k)
				}
			}
		}
		stored = append(stored, key)
	}
	if len(stored) < rows*95/100 {
		t.Errorf("the table was full with %d of %d rows", len(stored), rows)
	}
	if moves == 0 {
		t.Error("no entry was ever moved")
	}
	for i, key := range stored {
		if _, value, ok := table.Get(key); !ok || value != i {
			t.Errorf("Get(%s) = %d, %t", key, value, ok)
		}
	}
	t.Logf("%d of %d rows used, %d moves", len(stored), rows, moves)
}

func TestRemove(t *testing.T) {
	table := New(16, empty)
	writes, _ := table.Put("a", 1)
	again, _ := table.Put("a", 2)
	if len(again) != 1 || again[0].Index != writes[0].Index {
		t.Errorf("a second Put of a key went to another row: %v", again)
	}
	w, ok := table.Remove("a")
	if !ok || w.Valid || w.Index != writes[0].Index {
		t.Errorf("Remove = %v, %t", w, ok)
	}
	if _, ok := table.Remove("a"); ok {
		t.Error("a key was removed twice")
	}
}
