// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

const (
	home   = "Mapping change 192.0.2.2:61000 -> "
	whose  = " src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x00002001 reqid 1 dir in\n"
	moved  = "198.51.100.7:1024"
	forged = "203.0.113.9:4500"
)

// TestPeerOfSAD: the SAD's row expects the packets from the SA's source and its source port, which
// of an inbound SA are the peer's, as in Linux.
func TestPeerOfSAD(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Encapsulated)
	rows := r.Fake.Table(transport.Outer, regs.OuterTableSad)
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	f := regs.SadRow
	for _, row := range rows {
		if f.PeerAddr.Get(row) != 0xC0000202 || f.PeerPort.Get(row) != 61000 {
			t.Errorf("the row expects 0x%x, port %d", f.PeerAddr.Get(row), f.PeerPort.Get(row))
		}
	}
}

// TestMovedPeers: an authentic address is printed once, whatever was forged beside it; a forged one
// never is.
func TestMovedPeers(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Encapsulated)
	arrive := func(sa uint16, from string, authentic bool) {
		r.Fake.Arrive(sa, netip.MustParseAddrPort(from), authentic)
	}
	expect := func(want string) {
		t.Helper()
		if r.Events(); r.Out != want {
			t.Errorf("events:\n%s\nwant\n%s", r.Out, want)
		}
	}
	expect("")
	arrive(0, forged, false)
	arrive(0, moved, true)
	arrive(0, forged, false)
	arrive(0, moved, true)
	arrive(5, moved, true) // an SA that is gone
	expect(home + moved + whose)
	expect("")
	arrive(0, forged, false)
	expect("")
	arrive(0, moved, true)
	expect(home + moved + whose)

	// An event that comes when its place is freed already, and taken by another.
	arrive(0, moved, true)
	late := r.Fake.Get(transport.Inner, regs.InnerPeerEvent)
	expect(home + moved + whose)
	arrive(0, forged, false)
	r.Fake.Late(late)
	expect("")

	// More than 16, and no more places: the printed events are still true, and the next packets are
	// heard again.
	for range 20 {
		arrive(0, moved, true)
	}
	for range 64 {
		arrive(0, forged, false)
	}
	arrive(0, "198.51.100.8:1", true)
	expect(home + moved + whose)
	arrive(0, "198.51.100.8:1", true)
	expect(home + "198.51.100.8:1" + whose)
}

// TestMovedMeanwhile: a packet that comes while events are taken is told of the next time, also if
// no further one comes.
func TestMovedMeanwhile(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Encapsulated)
	arrived := false
	r.Fake.OnRead = func(c transport.Chip, addr uint32) {
		if !arrived && c == transport.Inner && addr == regs.InnerPeerEvent.Offset {
			arrived = true
			r.Fake.Arrive(0, netip.MustParseAddrPort(moved), true)
		}
	}
	out := ""
	for range 2 {
		r.Events()
		out += r.Out
	}
	if !arrived || out != home+moved+whose {
		t.Errorf("events:\n%s", out)
	}
}

// TestMovedPeersOfAnother: what waits of an SA is not said of the one that gets its row.
func TestMovedPeersOfAnother(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Encapsulated)
	r.Fake.Arrive(0, netip.MustParseAddrPort(moved), true)
	state := ""
	for line := range strings.Lines(testbox.Encapsulated) {
		if strings.Contains(line, "spi 0x2001") {
			state = line
		}
	}
	r.Must("xfrm state delete src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001")
	r.Must(strings.Replace(state, "0x2001", "0x2002", 1))
	if sa, _ := r.Sad(0x2002, "192.0.2.1"); sa != 0 {
		t.Fatalf("the new SA is in row %d, not in that of the old one", sa)
	}
	if r.Events(); r.Out != "" {
		t.Errorf("events:\n%s", r.Out)
	}
}
