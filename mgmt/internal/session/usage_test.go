// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// carry adds a packet to a row as the inner chip does: what carries out of a counter has reached
// its limit.
func (r *rig) carry(table regs.Table, index int, bytes uint64) {
	row := r.Fake.Table(transport.Inner, table)[index]
	if row == nil {
		row = make([]uint32, table.Words())
		r.Fake.Table(transport.Inner, table)[index] = row
	}
	f := regs.PolicyUsageRow
	before, packets := f.Bytes.Get(row), f.Packets.Get(row)
	f.Bytes.Put(row, before+bytes)
	f.Packets.Put(row, packets+1)
	if table.Name != regs.InnerTablePolicyUsage.Name && (before+bytes < before || packets+1 == 0) {
		regs.SaUsageRow.Expired.Put(row, 1)
	}
}

// TestLifetimeRows: counters less their hard limits, soft limits less the hard ones, by
// the numbers.
func TestLifetimeRows(t *testing.T) {
	for _, test := range []struct {
		limits                                 string
		bytes, packets, softBytes, softPackets uint64
	}{
		{"", 0, 0, 0, 0},
		{"limit byte-hard 1000", 0xfffffffffffffc18, 0, 0, 0},
		{"limit byte-soft 1000", 0, 0, 1000, 0},
		{"limit byte-soft 900 limit byte-hard 1000", 0xfffffffffffffc18, 0, 0xffffffffffffff9c, 0},
		{"limit packet-soft 5 limit packet-hard 6 limit byte-soft 7", 0, 0xfffffffffffffffa, 7, 0xffffffffffffffff},
		// At or above the hard limit a soft one has nothing to say.
		{"limit packet-soft 6 limit packet-hard 6 limit byte-soft 9 limit byte-hard 8", 0xfffffffffffffff8, 0xfffffffffffffffa, 0, 0},
		{"limit byte-soft 18446744073709551615 limit byte-hard 18446744073709551614 limit time-hard 0", 2, 0, 0, 0},
	} {
		for _, dir := range []string{"out", "in"} {
			r := newRig(t, fakebox.Small)
			table := compile.UsageTable(xfrm.Dir(dir))
			r.Fake.Table(transport.Inner, table)[0] = []uint32{1, 2, 3, 4, 5, 6, 7, 8, 3}
			r.Must(testbox.Limited("add", dir, 7, test.limits))
			row := r.Fake.Table(transport.Inner, table)[0]
			if row == nil {
				row = make([]uint32, table.Words())
			}
			f := regs.SaUsageRow
			got := [6]uint64{f.Bytes.Get(row), f.Packets.Get(row), f.SoftBytes.Get(row), f.SoftPackets.Get(row), f.Warned.Get(row), f.Expired.Get(row)}
			if want := [6]uint64{test.bytes, test.packets, test.softBytes, test.softPackets}; got != want {
				t.Errorf("%s %s: %x, want %x", dir, test.limits, got, want)
			}
		}
	}
}

// TestStatistics: what the rows hold is told as `ip -s` tells it, of SAs and of policies of
// both directions.
func TestStatistics(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Limited("add", "out", 1, "limit byte-hard 250 limit packet-hard 9") + testbox.Limited("add", "in", 11, "limit packet-soft 3") + testbox.Limited("add", "in", 13, "") +
		"xfrm policy add dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel\n" +
		"xfrm policy add dst 10.3.0.0/16 dir out action allow\n" +
		"xfrm policy add src 10.2.0.0/16 dir fwd tmpl src 192.0.2.11 dst 192.0.2.12 proto esp mode tunnel\n" +
		"xfrm policy add src 10.3.0.0/16 dir fwd action allow\n")
	for range 3 {
		r.carry(regs.InnerTableOutboundUsage, 0, 100)
		r.carry(regs.InnerTablePolicyUsage, 1, 100)
	}
	r.carry(regs.InnerTablePolicyUsage, 2, 1<<40)
	r.carry(regs.InnerTableInboundUsage, 0, 77)
	r.carry(regs.InnerTableInboundUsage, 1, 78)
	show := func(command string, parts ...string) {
		t.Helper()
		r.Statistics = true
		r.Must(command)
		at := 0
		for _, part := range parts {
			next := strings.Index(r.Out[at:], part)
			if next < 0 {
				t.Fatalf("%s: no %q behind byte %d of\n%s", command, part, at, r.Out)
			}
			at += next + len(part)
		}
		if got := strings.Count(r.Out, "lifetime current"); got != strings.Count(strings.Join(parts, ""), "(packets)\n") {
			t.Errorf("%s: %d counts\n%s", command, got, r.Out)
		}
		r.Statistics = false
	}
	show("xfrm state list",
		"spi 0x00000001", "limit: soft (INF)(bytes), hard 250(bytes)", "limit: soft (INF)(packets), hard 9(packets)", "current:\n\t  300(bytes), 3(packets)\n",
		"spi 0x0000000b", "limit: soft 3(packets), hard (INF)(packets)", "current:\n\t  77(bytes), 1(packets)\n", "spi 0x0000000d", "current:\n\t  78(bytes), 1(packets)\n")
	show("xfrm policy list", "10.2.0.0/16", "300(bytes), 3(packets)\n", "10.3.0.0/16", "1099511627776(bytes), 1(packets)\n", "dir fwd", "77(bytes), 1(packets)\n", "src 10.3.0.0/16")
	r.Must("xfrm state list\nxfrm policy list")
	if strings.Contains(r.Out, "current") || !strings.Contains(r.Out, "hard 250(bytes)") {
		t.Errorf("without statistics:\n%s", r.Out)
	}

	// Counts go on over changes that are not the policy's own, even of its rule's row; a policy
	// that is written again starts anew.
	r.Must("xfrm policy add dst 10.1.0.0/16 dir out action block\nxfrm policy delete dst 10.3.0.0/16 dir out\n" +
		"xfrm policy add dst 10.4.0.0/16 dir out action block priority 9")
	show("xfrm policy list dir out", "10.2.0.0/16", "300(bytes), 3(packets)\n", "10.1.0.0/16", "0(bytes), 0(packets)\n", "10.4.0.0/16", "0(bytes), 0(packets)\n")
	for _, rule := range r.Fake.Table(transport.Inner, regs.InnerTableRule) {
		if usage := regs.RuleRow.Usage.Get(rule); usage != 1 && usage != 3 && usage != 4 {
			t.Errorf("a rule counts in row %d", usage)
		}
	}
	r.Must("xfrm policy update dst 10.2.0.0/16 dir out action block")
	show("xfrm policy list dir out dst 10.2.0.0/16", "0(bytes), 0(packets)\n")
}

// TestNoUsageRowLeft: policies beyond the rows share row 0 and tell no count.
func TestNoUsageRowLeft(t *testing.T) {
	r := newRig(t, fakebox.Sizes{SABits: 4, FlowBits: 4, SADBits: 6, Rules: 32, NextHops: 256, HostBits: 6, PeerBits: 6, Window: 4096, Suites: fakebox.Small.Suites})
	text := ""
	for i := range 20 {
		text += fmt.Sprintf("xfrm policy add dst 10.%d.0.0/16 dir out action block\n", i)
	}
	r.Must(text)
	r.Statistics = true
	r.Must("xfrm policy list")
	if got := strings.Count(r.Out, "lifetime current"); got != 15 {
		t.Errorf("%d policies have counts, of 16 rows", got)
	}
}

// TestTimeNeedsADaemon: only sallyportd keeps limits in time, so sallyctl refuses them; limits that
// a daemon has loaded stay as they are.
func TestTimeNeedsADaemon(t *testing.T) {
	r := newRig(t, fakebox.Small)
	line := testbox.Limited("add", "out", 1, "limit time-use-hard 5")
	if err := r.Run(line); err == nil || !session.IsInput(err) || !strings.HasPrefix(err.Error(), "f:1: the SA spi 0x1 has a limit in time, which sallyportd keeps") || len(r.Fake.Log) != 0 {
		t.Error(err)
	}
	commands, err := xfrm.ParseBatch("f", []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Session(func(s *session.Session) error { s.Ages = true; return s.Run(commands) }); err != nil {
		t.Fatal(err)
	}
	r.Must("addr add 10.1.0.1/16 dev red\nxfrm state list")
	if !strings.Contains(r.Out, "expire use: soft 0(sec), hard 5(sec)") {
		t.Error(r.Out)
	}
}

// TestEvents: events are printed once, with the SA's name; when some were lost, all SAs at a limit.
func TestEvents(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Limited("add", "out", 1, "limit packet-hard 1") + testbox.Limited("add", "in", 11, "limit packet-soft 3"))
	bit := func(f regs.Field) uint32 { return 1 << f.LSB }
	expect := func(want string) {
		t.Helper()
		if r.Events(); r.Out != want {
			t.Errorf("events:\n%s\nwant\n%s", r.Out, want)
		}
	}
	expect("")
	r.Fake.Expire(bit(regs.InnerLifetimeEventHard) | bit(regs.InnerLifetimeEventPackets))
	r.Fake.Expire(bit(regs.InnerLifetimeEventInbound) | bit(regs.InnerLifetimeEventPackets) | bit(regs.InnerLifetimeEventBytes))
	r.Fake.Expire(bit(regs.InnerLifetimeEventHard) | 9) // an SA that is gone
	hard := "Expired src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x00000001 reqid 1 dir out hard"
	expect(hard + " limit packets\nExpired src 192.0.2.11 dst 192.0.2.12 proto esp spi 0x0000000b reqid 11 dir in soft limit bytes,packets\n")
	expect("")
	for range 17 {
		r.Fake.Expire(9)
	}
	r.carry(regs.InnerTableOutboundUsage, 0, 5)
	expect(hard + "\n")
	if !strings.Contains(r.Notes, "events were lost") {
		t.Errorf("notes %q", r.Notes)
	}
	expect("")
}

// TestAgedWithoutAFile: limits are told though the state file cannot be written, a soft one once.
// The file has the told ones as soon as it can be written.
func TestAgedWithoutAFile(t *testing.T) {
	r := newRig(t, fakebox.Small)
	now := time.Unix(1_800_000_000, 0)
	open := func() *session.Session {
		s := &session.Session{Box: r.Open(), StatePath: r.State, Ages: true, Now: func() time.Time { return now }, Out: io.Discard, Notes: io.Discard}
		if err := s.Hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	commands, err := xfrm.ParseBatch("f", []byte("addr add 192.0.2.1/24 dev black\n"+testbox.Limited("add", "out", 1, "limit time-soft 60 limit time-use-hard 50")))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(commands); err != nil {
		t.Fatal(err)
	}
	aged := func(wantSoft, wantHard int, fails bool) {
		t.Helper()
		soft, hard, err := s.Aged()
		if len(soft) != wantSoft || len(hard) != wantHard || (err != nil) != fails || err != nil && !session.IsRefused(err) {
			t.Errorf("%d soft, %d hard, %v; want %d, %d, an error: %t", len(soft), len(hard), err, wantSoft, wantHard, fails)
		}
	}
	mend := s.BreakStore()
	aged(0, 0, false)
	row := make([]uint32, regs.InnerTableOutboundUsage.Words())
	regs.SaUsageRow.Packets.Put(row, 1)
	r.Fake.Table(transport.Inner, regs.InnerTableOutboundUsage)[0] = row
	now = now.Add(20 * time.Second)
	aged(0, 0, true) // the first use
	now = now.Add(40 * time.Second)
	aged(1, 0, true)
	aged(0, 0, true)
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	aged(0, 0, false)
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	s = open()
	aged(0, 0, false)
	now = now.Add(10 * time.Second) // 50 s behind the first use
	aged(0, 1, false)
}
