// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNodeRows: a node comes back from its rows as it was, with an end 2^64 - 1 too.
func TestNodeRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		n := node{count: r.IntN(maxEnds + 1)}
		for place := range n.count + 1 {
			n.child[place], n.group[place] = uint16(100+place), uint8(r.IntN(2))
			if place < n.count {
				n.ends[place] = uint64(place+1) << 32
			}
		}
		if n.count > 0 && r.IntN(2) == 0 {
			n.ends[n.count-1] = ^uint64(0)
		}
		writes := n.encode(Routes, 0, 5)
		var back node
		back.decode(writes[0].Row, writes[1].Row)
		if back.count != n.count || !slices.Equal(back.ends[:n.count], n.ends[:n.count]) ||
			!slices.Equal(back.child[:n.count+1], n.child[:n.count+1]) ||
			!slices.Equal(back.group[:n.count+1], n.group[:n.count+1]) {
			t.Fatalf("%v comes back as %v", n, back)
		}
	}
}
