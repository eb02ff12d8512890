// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// TestCost: a change writes as many rows with 16,384 routes as with few, so that no one waits for
// the others. With -v it says how long a change takes, and how long all routes took.
func TestCost(t *testing.T) {
	if testing.Short() {
		t.Skip("16,384 routes take long")
	}
	const most = 2 * 12 * 4 // the nodes and children of two ways and their siblings
	for _, count := range []int{1, 1000, 16384} {
		b := newBox(t, 12)
		b.Must(network)
		var routes []learned.Change
		for n := range count {
			routes = append(routes, via(fmt.Sprintf("%d.%d.%d.0/24", 20+n/16384, n/64%256, n%64*4), fmt.Sprintf("10.1.0.%d", 2+n%3)))
		}
		for some := range slices.Chunk(routes, batch) {
			b.learn(some...)
		}
		v, err := b.Daemon.Look()
		if err != nil {
			t.Fatal(err)
		}
		if refused := v.Model().FromLinux[xfrm.Red].Refused(); refused > 0 {
			t.Errorf("%d of %d routes are refused", refused, count)
		}
		b.Fake.Log = nil
		result := testing.Benchmark(func(bench *testing.B) {
			for n := range bench.N {
				if n%2 == 0 {
					b.learn(via("20.9.1.0/24", "10.1.0.2"))
				} else {
					b.learn(gone("20.9.1.0/24"))
				}
			}
		})
		b.Fake.Log = nil
		b.learn(via("20.9.1.0/24", "10.1.0.2"))
		b.learn(gone("20.9.1.0/24"))
		if rows := len(b.Fake.Log); rows > most {
			t.Errorf("two changes among %d routes write %d rows", count, rows)
		}
		t.Logf("%d routes: a change takes %v, and two write %d rows", count, result.NsPerOp()/1000, len(b.Fake.Log))
	}
}

// TestCostOfHostRoutes: a change of one address writes one row among 8,192 such routes, too. With
// -v it says how long that takes.
func TestCostOfHostRoutes(t *testing.T) {
	if testing.Short() {
		t.Skip("8,192 routes take long")
	}
	for _, count := range []int{1, 8192} {
		sizes := sized(12)
		sizes.HostBits = 14
		b := &box{testbox.Hold(t, sizes), xfrm.Red}
		b.load(longNetwork)
		var routes []learned.Change
		for n := range count {
			routes = append(routes, via(fmt.Sprintf("2001:db8:9::%x/128", n), "2001:db8:1::5"))
		}
		for some := range slices.Chunk(routes, batch) {
			b.learn(some...)
		}
		b.wantAt(fmt.Sprintf("2001:db8:9::%x", count-1), "5")
		b.Fake.Log = nil
		const changes = 20
		begun := time.Now()
		for n := range changes {
			b.learn(via("2001:db8:9::/128", fmt.Sprintf("2001:db8:1::%d", 6-n%2)))
		}
		t.Logf("%d routes: a change takes %v", count, time.Since(begun)/changes)
		if rows := len(b.Fake.Log); rows != changes {
			t.Errorf("%d changes among %d routes write %d rows", changes, count, rows)
		}
	}
}
