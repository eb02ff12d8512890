// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestFollowPaths: the lowest believed report of a period comes to the chips, whatever forged ones
// come with it, and is forgotten when its time is over.
func TestFollowPaths(t *testing.T) {
	r := newRig(t)
	clock := make(chan time.Time, 1)
	now := func() time.Time { at := <-clock; clock <- at; return at }
	start := time.Unix(1_700_000_000, 0)
	clock <- start
	r.daemon.now, r.daemon.session.Now = now, now
	r.must(tunnel...)
	r.get("advance", outbound+`,"number":1000`)
	reports := make(chan model.PathReport)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.daemon.followPaths(ctx, reports) }()
	number := uint32(1000)
	report := func(spi, mtu uint32) {
		reports <- model.PathReport{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), SPI: spi, Number: number, Length: 1500, MTU: mtu}
	}
	waitFor := func(want uint64) {
		t.Helper()
		r.until(fmt.Sprintf("a path MTU of %d", want), func() bool {
			r.daemon.mu.Lock()
			defer r.daemon.mu.Unlock()
			return regs.TunnelRow.Mtu.Get(r.fake.Table(transport.Outer, regs.OuterTableTunnel)[0]) == want
		})
	}
	for _, mtu := range []uint32{0, 68, 575, 9999} {
		report(0x1001, mtu)
	}
	for range 300 {
		report(0x1002, 600)
	}
	for _, number = range []uint32{0, 1001, 1 << 31, math.MaxUint32} {
		report(0x1001, 1200)
	}
	number = 1
	report(0x1001, 1300)
	report(0x1001, 1400)
	waitFor(1300)
	<-clock
	clock <- start.Add(model.PathAge * time.Second)
	waitFor(0)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
