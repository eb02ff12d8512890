// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkChange takes a prefix out and puts it back, in trees of different numbers of them. It
// gives the rows that a change writes, and the memory of the whole tree.
func BenchmarkChange(b *testing.B) {
	for number := 1; number <= target; number *= 4 {
		b.Run(fmt.Sprint(number), func(b *testing.B) {
			prefixes := internet(number)
			before := heap()
			tree := New(board)
			for n, prefix := range prefixes {
				if _, err := tree.Apply(Routes, []Change{{prefix, uint16(1 + n%255)}}); err != nil {
					b.Fatal(err)
				}
			}
			size, rows, n := heap()-before, 0, 0
			for b.Loop() {
				writes, err := tree.Apply(Routes, []Change{{prefixes[n/2%number], uint16(n % 2)}})
				if err != nil {
					b.Fatal(err)
				}
				rows, n = rows+len(writes), n+1
			}
			b.ReportMetric(float64(rows)/float64(n), "rows/op")
			b.ReportMetric(float64(size)/1e6, "MB")
		})
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkLoad puts all prefixes into an empty tree at once.
func BenchmarkLoad(b *testing.B) {
	var changes []Change
	for _, prefix := range internet(target) {
		changes = append(changes, Change{prefix, 1})
	}
	for b.Loop() {
		if _, err := New(board).Apply(Routes, changes); err != nil {
			b.Fatal(err)
		}
	}
}
