// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// audit is one invocation of `sallyctl audit`, a second after the one before; lines are its output
// behind the time.
func (r *rig) audit(lines ...string) {
	r.T.Helper()
	r.Clock++
	at := time.Date(2026, 2, 28, 23, 59, 59, 1e8, time.FixedZone("", 3600)).Add(time.Duration(r.Clock) * time.Second)
	err := r.Session(func(s *session.Session) error {
		s.Now = func() time.Time { return at }
		return testbox.PrintEvents(s, s.Audit)
	})
	if err != nil {
		r.T.Fatal(err)
	}
	want := ""
	for _, line := range lines {
		want += fmt.Sprintf("2026-02-28T23:%02d:%02d.100000Z %s\n", r.Clock/60, (59+r.Clock)%60, line)
	}
	if r.Out != want {
		r.T.Errorf("audit:\n%s\nwant\n%s", r.Out, want)
	}
}

const (
	ofPeer = " src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x00002001 reqid 1 dir in seq "
	atOnce = " uptime 0.000000000"
	// ofNobody is the text behind an event of wrong selectors whose packet is all zeros.
	ofNobody = " packet src ::/128 dst ::/128 allowed src 10.2.0.0/16 dst 10.1.0.0/16"
)

// TestAudit: a line for each event, in order, in UTC; of an SA that is gone none.
func TestAudit(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Tunnel)
	r.audit()
	r.Fake.Drop(0, regs.AuditReasonReplayed, 1<<32-1)
	r.Fake.Drop(0, regs.AuditReasonTooOld, 7)
	r.Fake.Drop(5, regs.AuditReasonTooOld, 8)
	r.Fake.Drop(0, regs.AuditReasonSelectorMismatch, 9)
	r.Fake.Drop(0, regs.AuditReasonSelectorMismatch, 10)
	r.Fake.Drop(0, regs.AuditReasonNoSelector, 0)
	r.Fake.Drop(0, regs.AuditReasonWindowUpset, 3)
	r.Fake.Forge(0, 11)
	r.Fake.Forge(0, 12)
	r.Fake.Forge(5, 13)
	r.audit("drop_replayed"+ofPeer+"4294967295"+atOnce, "drop_too_old"+ofPeer+"7"+atOnce, "drop_selector_mismatch"+ofPeer+"9"+atOnce+ofNobody,
		"drop_no_selector"+ofPeer+"0"+atOnce, "drop_window_upset"+ofPeer+"3"+atOnce, "drop_dec_icv"+ofPeer+"11"+atOnce)
	if r.Notes != "" {
		t.Errorf("notes %q", r.Notes)
	}
	r.audit()
	if r.Events(); r.Out != "" {
		t.Errorf("events:\n%s", r.Out)
	}
}

// TestAuditLost: a loss of events is printed once, beside the events that were not lost.
func TestAuditLost(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Tunnel)
	var lines []string
	for n := range uint32(17) {
		r.Fake.Drop(0, n%2, n)
		lines = append(lines, fmt.Sprintf("drop_%s%s%d", regs.AuditReasonNames[n%2], ofPeer, n)+atOnce)
	}
	r.audit(lines[:16]...)
	if strings.Count(r.Notes, "\n") != 1 || !strings.Contains(r.Notes, "audit events were lost") {
		t.Errorf("notes %q", r.Notes)
	}
	r.audit()
	if r.Notes != "" {
		t.Errorf("notes %q", r.Notes)
	}
	lines = nil
	for n := range uint32(17) {
		r.Fake.Forge(uint16(n%2)*5, n)
		if n%2 == 0 {
			lines = append(lines, fmt.Sprintf("drop_dec_icv%s%d", ofPeer, n)+atOnce)
		}
	}
	r.audit(lines[:8]...)
	if strings.Count(r.Notes, "\n") != 1 || !strings.Contains(r.Notes, "drop_dec_icv of the crypto chip") {
		t.Errorf("notes %q", r.Notes)
	}
	r.audit()
	if r.Notes != "" {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestAuditTimes: seconds since the chip's reset, and the time of day that they stand for; lines of
// both chips, which were reset at different times, in the order of the day.
func TestAuditTimes(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Tunnel)
	const second = 300_000_000
	r.Fake.Tick(transport.Inner, 1<<40)
	r.Fake.Drop(0, regs.AuditReasonReplayed, 1)
	r.Fake.Tick(transport.Inner, 1<<40+3*second)
	r.Fake.Drop(0, regs.AuditReasonTooOld, 2)
	r.Fake.Tick(transport.Inner, 1<<40+3*second+1)
	r.Fake.Drop(0, regs.AuditReasonReplayed, 3)
	r.Fake.Tick(transport.Inner, 1<<40+4*second)
	r.Fake.Tick(transport.Crypto, second-1)
	r.Fake.Forge(0, 4)
	r.Fake.Tick(transport.Crypto, 3*second+second/2-1)
	err := r.Session(func(s *session.Session) error {
		s.Now = func() time.Time { return time.Date(2026, 3, 1, 0, 0, 3, 0, time.UTC) }
		return testbox.PrintEvents(s, s.Audit)
	})
	if err != nil {
		t.Fatal(err)
	}
	// 2^40 cycles of 300 MHz are 3665 s and 11627776 cycles.
	want := "2026-02-28T23:59:59.000000Z drop_replayed" + ofPeer + "1 uptime 3665.038759253\n" +
		"2026-03-01T00:00:00.500000Z drop_dec_icv" + ofPeer + "4 uptime 0.999999996\n" +
		"2026-03-01T00:00:02.000000Z drop_too_old" + ofPeer + "2 uptime 3668.038759253\n" +
		"2026-03-01T00:00:02.000000Z drop_replayed" + ofPeer + "3 uptime 3668.038759256\n"
	if r.Out != want {
		t.Errorf("audit:\n%s\nwant\n%s", r.Out, want)
	}
}

// TestAuditPacket: the fields of a packet that its SA's selectors do not allow, and those
// selectors, in the words of a selector.
func TestAuditPacket(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Tunnel + "xfrm policy add src 10.2.0.0/16 dst 10.9.0.0/16 proto udp dport 53 dir in priority 90 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel\n")
	allowed := " allowed src 10.2.0.0/16 dst 10.9.0.0/16 proto udp dport 53, src 10.2.0.0/16 dst 10.1.0.0/16"
	v4 := func(ports, upper uint32) []uint32 {
		return []uint32{0xcb007105, 0, 0, 0, 0xc6120001, 0, 0, 0, ports, upper}
	}
	v6 := func(ports, upper uint32) []uint32 {
		return []uint32{1, 0, 0x00020003, 0x20010db8, 0xffffffff, 0, 0, 0xff020000, ports, upper}
	}
	for _, c := range []struct {
		words []uint32
		want  string
	}{
		{v4(9<<16|7, 17|4<<8|1<<12), "src 203.0.113.5/32 dst 198.18.0.1/32 proto udp sport 7 dport 9"},
		{v4(0<<16|8, 1|4<<8|2<<12), "src 203.0.113.5/32 dst 198.18.0.1/32 proto icmp type 8 code 0"},
		{v4(0, 6|4<<8|0<<12), "src 203.0.113.5/32 dst 198.18.0.1/32 proto tcp sport opaque dport opaque"},
		{v4(0, 47|4<<8|0<<12), "src 203.0.113.5/32 dst 198.18.0.1/32 proto gre"},
		{v6(65535<<16|1, 132|6<<8|1<<12), "src 2001:db8:2:3::1/128 dst ff02::ffff:ffff/128 proto sctp sport 1 dport 65535"},
		{v6(1<<16|128, 58|6<<8|2<<12), "src 2001:db8:2:3::1/128 dst ff02::ffff:ffff/128 proto ipv6-icmp type 128 code 1"},
		{v6(5, 135|6<<8|2<<12), "src 2001:db8:2:3::1/128 dst ff02::ffff:ffff/128 proto 135 type 5"},
	} {
		r.Fake.Drop(0, regs.AuditReasonSelectorMismatch, 9, c.words...)
		r.audit("drop_selector_mismatch" + ofPeer + "9" + atOnce + " packet " + c.want + allowed)
	}
}

// TestAuditOfAnother: what waits of an SA is not said of the one that gets its row, and that it is
// not said is.
func TestAuditOfAnother(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Tunnel)
	state := ""
	for line := range strings.Lines(testbox.Tunnel) {
		if strings.Contains(line, "spi 0x2001") {
			state = line
		}
	}
	r.Fake.Drop(0, regs.AuditReasonReplayed, 3)
	r.Quiet("xfrm policy add dst 10.7.0.0/16 dir out action block")
	r.audit("drop_replayed" + ofPeer + "3" + atOnce)

	r.Fake.Drop(0, regs.AuditReasonReplayed, 4)
	r.Fake.Forge(0, 5)
	r.Must("xfrm state delete src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001")
	r.Must(strings.Replace(state, "0x2001", "0x2002", 1))
	if sa, _ := r.Sad(0x2002, "192.0.2.1"); sa != 0 {
		t.Fatalf("the new SA is in row %d, not in that of the old one", sa)
	}
	if !strings.Contains(r.Notes, "2 audit events that waited") {
		t.Errorf("notes %q", r.Notes)
	}
	r.audit()
}
