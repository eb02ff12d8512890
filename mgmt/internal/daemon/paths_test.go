// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestTooLongForRed: a packet out of a tunnel that is too long for red comes to no device; its
// sender hears of it by policy. The device has red's MTU.
func TestTooLongForRed(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], tunnel[2], "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	e := r.host()
	before := r.link("sp-red").Attrs()
	if before.MTU != 1300 {
		t.Errorf("sp-red has the MTU %d", before.MTU)
	}
	frame := append(asked(t, 7), make([]byte, 14+1500)...)[:14+1500]
	binary.BigEndian.PutUint16(frame[14+2:], 1500)
	frame[14+6] = 0x40
	copy(frame[14+12:], []byte{10, 2, 0, 9, 10, 1, 0, 9})
	for _, reason := range []byte{regs.PuntReasonTunnelMtu, regs.PuntReasonClearMtu} {
		e.message(transport.PortRed, reason, 0, frame)
		for answer := range e.own {
			if bytes.Equal(answer[14+16:14+22], []byte{10, 2, 0, 9, 3, 4}) {
				if mtu := binary.BigEndian.Uint16(answer[14+26:]); mtu != 1300 {
					t.Errorf("%x", answer)
				}
				break
			}
		}
	}
	if got := r.link("sp-red").Attrs().Statistics.RxPackets; got != before.Statistics.RxPackets {
		t.Error("a frame came in at sp-red")
	}
}

// TestFollowPaths: the lowest believed report of a period comes to the chips, whatever forged ones
// come with it, and is forgotten when its time is over, which is configured.
func TestFollowPaths(t *testing.T) {
	for _, holds := range []time.Duration{model.PathAge, 5 * time.Minute, 24 * time.Hour} {
		t.Run(holds.String(), func(t *testing.T) { followPaths(t, holds) })
	}
}

func followPaths(t *testing.T, holds time.Duration) {
	r := newRig(t)
	if holds != model.PathAge {
		r.daemon.UsePaths(Paths{Believe: true, Holds: holds})
	}
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
	clock <- start.Add(holds)
	waitFor(0)
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// toldOfPath is scapy's: fragmentation needed, of 203.0.113.9, about ESP from 192.0.2.1.
const toldOfPath = "0262c000020102000000009908004500004c0001000040017ca5cb007109c0000201030432c500000578450005d8000740003c32b4e9c0000201c000020200001001000000097878787878787878787878787878787878787878"

// TestHear: messages of black about paths are believed as the configuration says, of that port and
// reason alone.
func TestHear(t *testing.T) {
	frame := unhex(t, toldOfPath)
	for _, c := range []struct {
		header  transport.PuntHeader
		believe bool
		want    int
	}{
		{transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonIcmp}, true, 1},
		{transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonIcmp}, false, 0},
		{transport.PuntHeader{Port: transport.PortRed, Reason: regs.PuntReasonIcmp}, true, 0},
		{transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonLinkLocal}, true, 0},
	} {
		d := &Daemon{host: &host{paths: make(chan model.PathReport, 2)}}
		d.UsePaths(Paths{Believe: c.believe, Holds: model.PathAge})
		if d.hear(c.header, frame); len(d.host.paths) != c.want {
			t.Errorf("%+v, believed %t: %d reports, want %d", c.header, c.believe, len(d.host.paths), c.want)
		}
	}
}
