// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestTFCPadRows: the least length of an SA's packets in its rules and flows: that of the state, or
// what its MTU leaves of it (RFC 4303, 2.7). With AES-GCM a packet of n bytes is ESP of 20 + 8 +
// 8 + n + 2 bytes, padded to 4, and 16.
func TestTFCPadRows(t *testing.T) {
	cbc := `enc "cbc(aes)" 0x` + strings.Repeat("01", 16) + ` auth-trunc "hmac(sha256)" 0x` + strings.Repeat("02", 32) + " 128"
	for _, test := range []struct {
		words, link string
		bytes       uint64 // in rows: ESP as long as with the length that was asked for
	}{
		{"", "", 0},
		{"tfcpad 20", "", 20},
		{"tfcpad 1000", "", 1000},
		{"tfcpad 1001", "", 1000},
		{"tfcpad 1002", "", 1000},
		{"tfcpad 1003", "", 1004},
		{"tfcpad 1445", "link set black mtu 1500\n", 1444},
		{"tfcpad 1446", "link set black mtu 1500\n", 1444},
		{"tfcpad 1447", "link set black mtu 1500\n", 1444},
		{"tfcpad 9582", "link set black mtu 1500\n", 1444},
		{"tfcpad 9582", "", 9524},
		{"tfcpad 1000 df unset", "link set black mtu 1500\n", 1000},
		{"tfcpad 9000 df unset", "link set black mtu 1500\n", 1444},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet(test.link + "addr add 192.0.2.1/24 dev black\n" + outerState(test.words) +
			"xfrm policy add src 10.1.0.1 dst 10.2.0.1 proto udp sport 5 dport 6 dir out priority 8 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel\n" +
			"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9\n")
		rules := r.Fake.Table(transport.Inner, regs.InnerTableRule)
		if got := 4 * regs.RuleRow.Tfc.Get(rules[0]); got != test.bytes {
			t.Errorf("%q: rule has %d", test.words, got)
		}
		if mtu := regs.RuleRow.Mtu.Get(rules[0]); mtu != 0 && test.bytes > mtu {
			t.Errorf("%q: longer than its MTU, %d", test.words, mtu)
		}
		if got := 4 * regs.FlowRow.Tfc.Get(r.FlowRow("10.1.0.1", "10.2.0.1", 17, 5, 6)); got != test.bytes {
			t.Errorf("%q: flow has %d", test.words, got)
		}
		if regs.RuleRow.Tfc.Get(rules[1]) != 0 {
			t.Errorf("%q: what is bypassed is padded", test.words)
		}
	}
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 192.0.2.1/24 dev black\nlink set black mtu 1500\nxfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 5 reqid 7 mode tunnel dir out tfcpad 1500 " + cbc +
		"\nxfrm policy add dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel\n")
	// 1500 - 20 - 8 - 16 - 16 = 1440 = 90 blocks: 1438 bytes and 2; 1436 make 90 too.
	if got := 4 * regs.RuleRow.Tfc.Get(r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]); got != 1436 {
		t.Errorf("CBC: %d", got)
	}
}

// dummySA is an outbound SA that sends dummy packets.
func dummySA(spi int, words string) string {
	return testbox.Sa6("192.0.2.1", "192.0.2.2", spi, spi, "dir out dummy 1000 every 16us "+words)
}

func removeSA(spi int) string {
	return fmt.Sprintf("xfrm state delete dst 192.0.2.2 proto esp spi 0x%x\n", spi)
}

// TestDummyRows: a row for each SA that sends dummies, released with it, refused when all are
// taken, and behind an MTU that changes.
func TestDummyRows(t *testing.T) {
	sizes := fakebox.Small
	sizes.SABits = 5
	r := newRig(t, sizes)
	batch := "addr add 192.0.2.1/24 dev black\n" + testbox.Sa6("192.0.2.1", "192.0.2.2", 0x900, 9, "dir out")
	for spi := range compile.DummyRows {
		batch += dummySA(0x100+spi, "")
	}
	r.Quiet(batch)
	rows := func() map[int][]uint32 { return r.Fake.Table(transport.Inner, regs.InnerTableDummy) }
	f := regs.DummyRow
	sas := map[uint64]bool{}
	for index := range compile.DummyRows {
		row := rows()[index]
		if got := []uint64{f.Valid.Get(row), 4 * f.Length.Get(row), f.Interval.Get(row)}; !slices.Equal(got, []uint64{1, 1000, 300}) {
			t.Errorf("row %d: %v", index, got)
		}
		sas[f.Sa.Get(row)] = true
	}
	if len(sas) != compile.DummyRows || sas[0] {
		t.Errorf("dummies of the SAs %v", sas)
	}

	before := r.Snapshot()
	err := r.Run(dummySA(0x200, ""))
	if err == nil || !strings.HasPrefix(err.Error(), "f:1: no room for the dummy packets of the SA spi 0x200: 16 SAs send some") || !session.IsInput(err) {
		t.Error(err)
	}
	if r.Snapshot() != before {
		t.Error("something was written")
	}

	// Its row goes before its key, with time between for packets under way; the next SA gets
	// the row.
	third := f.Sa.Get(rows()[3])
	r.Quiet(removeSA(0x103))
	cleared := slices.IndexFunc(r.Fake.Log, func(w fakebox.Row) bool { return w.Table == "dummy" && w.Index == 3 && testbox.IsZero(w.Words) })
	key := slices.IndexFunc(r.Fake.Log, func(w fakebox.Row) bool { return w.Table == "outbound_key" })
	if cleared < 0 || key < 0 || len(r.Fake.Waits) != 1 || cleared >= r.Fake.Waits[0] || key < r.Fake.Waits[0] {
		t.Errorf("the dummy row is written at %d, the key at %d, waits %v", cleared, key, r.Fake.Waits)
	}
	r.Quiet(dummySA(0x300, ""))
	keyAt := slices.IndexFunc(r.Fake.Log, func(w fakebox.Row) bool { return w.Table == "outbound_key" })
	dummyAt := slices.IndexFunc(r.Fake.Log, func(w fakebox.Row) bool { return w.Table == "dummy" })
	if f.Sa.Get(rows()[3]) != third || keyAt < 0 || dummyAt < keyAt {
		t.Errorf("row 3 is SA %d's; key at %d, dummy at %d", f.Sa.Get(rows()[3]), keyAt, dummyAt)
	}

	// All at once for others: rows of what goes are taken, and none leads to an SA that is
	// being replaced.
	batch = ""
	for spi := range compile.DummyRows {
		if spi != 3 {
			batch += removeSA(0x100 + spi)
		}
	}
	batch += removeSA(0x300)
	for spi := range compile.DummyRows {
		batch += dummySA(0x400+spi, "")
	}
	r.Quiet(batch)
	if len(rows()) != compile.DummyRows {
		t.Errorf("%d rows", len(rows()))
	}

	r.Quiet("link set black mtu 700\n")
	if got := 4 * f.Length.Get(rows()[0]); got != 644 { // 700 - 20 - 8 - 8 - 16 - 2 = 646
		t.Errorf("with an MTU of 700: %d", got)
	}
	r.Quiet("xfrm state flush\n")
	if len(rows()) != 0 {
		t.Errorf("%d rows are left", len(rows()))
	}
}

// TestTFCLists: the words are listed as they are read, kept between runs, and changed by an update.
func TestTFCLists(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("addr add 192.0.2.1/24 dev black\n" + outerState("df set tfcpad 1400 dummy 1400 every 2ms"))
	r.Quiet("xfrm state list")
	if !strings.Contains(r.Out, "\treplay-window 64 df set tfcpad 1400 dummy 1400 every 2ms \n") {
		t.Error(r.Out)
	}
	r.Must(strings.Replace(testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1001, 7, "dir out tfcpad 600"), "add", "update", 1))
	r.Quiet("xfrm state get dst 192.0.2.2 proto esp spi 0x1001")
	if !strings.Contains(r.Out, "\treplay-window 64 tfcpad 600 \n") || len(r.Fake.Table(transport.Inner, regs.InnerTableDummy)) != 0 {
		t.Error(r.Out)
	}
}

// TestTFCIsOutbound: an SA whose direction follows from its ends is refused as one with `dir in`
// is, and nothing is written.
func TestTFCIsOutbound(t *testing.T) {
	for _, words := range []string{"tfcpad 1000", "dummy 1000 every 1ms"} {
		r := newRig(t, fakebox.Small)
		err := r.Run("addr add 192.0.2.1/24 dev black\n" + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2001, 7, words))
		if err == nil || !strings.HasPrefix(err.Error(), "f:2: ") || !strings.Contains(err.Error(), "the SA spi 0x2001 is inbound: leave it out") || !session.IsInput(err) {
			t.Errorf("%s gave %v", words, err)
		}
		if r.Fake.Writes != 0 {
			t.Errorf("%s: something was written", words)
		}
	}
}
