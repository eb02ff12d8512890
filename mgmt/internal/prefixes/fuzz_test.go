// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// FuzzChanges: after any changes a chip that got the writes sends each address by its longest
// prefix, and none of the writes was to a node that a look-up could read. Each change takes 11
// bytes: key, length and version, group, and whether the batch goes on.
func FuzzChanges(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, number := range []int{1, 40, 200} {
		data := make([]byte, 11*number)
		for n := range data {
			data[n] = byte(r.Uint32())
		}
		f.Add(data)
		for n := range data {
			if n%11 < 8 {
				data[n] &= 0x11
			}
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, hw, want := New(64), newChip(), table{}
		var changes []Change
		var named []netip.Prefix
		for ; len(data) >= 11 && len(named) < 300; data = data[11:] {
			addr := address(data[8]&0x80 != 0, binary.BigEndian.Uint64(data))
			prefix, err := addr.Prefix(int(data[8] & 0x7f))
			if err != nil {
				continue
			}
			changes = append(changes, Change{prefix, uint16(data[9])})
			if data[10]&1 == 1 && len(data) >= 22 {
				continue
			}
			writes, err := tree.Apply(Routes, changes)
			if err == nil {
				want.apply(changes)
			}
			for _, w := range writes {
				hw.write(t, w)
			}
			check(t, tree)
			for _, c := range changes {
				if c.Prefix.Bits() <= keyBits {
					named = append(named, c.Prefix)
				}
			}
			changes = changes[:0]
		}
		for _, addr := range probes(rand.New(rand.NewPCG(1, 1)), named) {
			if got := uint16(hw.lookup(addr)); got != want.longest(addr) {
				t.Fatalf("%v goes to %d, must be %d", addr, got, want.longest(addr))
			}
		}
	})
}
