// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestFull: a table that is full is one sentence with the line, and nothing is installed.
func TestFull(t *testing.T) {
	rule := func(i int, dir string) string {
		return fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir %s action block\n", i, dir)
	}
	for _, test := range []struct {
		name, reason string
		line         func(i int) string
		least, most  int
	}{
		{"outbound SAs", "the table of 16 is full", func(i int) string { return testbox.State(i, "out") }, 16, 16},
		{"inbound SAs", "the table of 16 is full", func(i int) string { return testbox.State(i, "in") }, 16, 16},
		{"rules", "it needs 1 of the 32 rules of the inner chip, and 0 are free", func(i int) string { return rule(i, "out") }, 32, 32},
		{"outer rules", "it needs 1 of the 32 rules of the outer chip, and 0 are free", func(i int) string { return rule(i, "in") }, 32, 32},
		{"inbound rules", "it needs 1 of the 32 inbound rules of the inner chip, and 0 are free", func(i int) string {
			policy := fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir in", i) + testbox.InTmpl
			if i > 0 {
				return policy
			}
			return strings.ReplaceAll(testbox.State(0, "in"), "reqid 2", "reqid 1") + policy
		}, 32, 32},
		{"flows", "the flow table of 64 rows is full", func(i int) string {
			return fmt.Sprintf("xfrm policy add src 10.1.0.%d dst 10.2.0.1 proto udp sport 1 dport 2 dir out action block\n", i)
		}, 56, 64},
		{"next hops", "the table of black has 256 rows", func(i int) string {
			return fmt.Sprintf("neigh add 10.9.%d.1 lladdr 02:00:00:00:00:01 dev black\nxfrm policy add src 10.1.0.1 dst 10.9.%d.1 proto udp sport 1 dport 2 dir out action allow\n", i, i)
		}, 255, 255},
	} {
		sizes := fakebox.Small
		if test.name == "next hops" {
			sizes.FlowBits = 12
		}
		text, last := "", 0
		for i := 0; i < 257; i++ {
			text += test.line(i)
			probe := newRig(t, sizes)
			if i < test.least-1 {
				continue
			}
			if err := probe.Run(text); err != nil {
				wantLine := fmt.Sprintf("f:%d: ", strings.Count(text, "\n"))
				if !strings.Contains(err.Error(), test.reason) || !session.IsInput(err) || !strings.HasPrefix(err.Error(), wantLine) {
					t.Errorf("%s: %v, want %s… %s", test.name, err, wantLine, test.reason)
				}
				if probe.Snapshot() != "" || probe.Fake.Writes != 0 {
					t.Errorf("%s: something is installed", test.name)
				}
				break
			}
			last = i + 1
		}
		if last < test.least || last > test.most {
			t.Errorf("%s: %d entries fit, want %d to %d", test.name, last, test.least, test.most)
		}
	}
}

// TestReplaceWhenFull: a batch that flushes full tables and fills them again goes through although
// old and new do not fit together.
func TestReplaceWhenFull(t *testing.T) {
	r := newRig(t, fakebox.Small)
	text := "xfrm state flush\nxfrm policy flush\n"
	for i := range 16 {
		text += testbox.State(i, "out") + testbox.State(i, "in")
	}
	for i := range 32 {
		text += fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir out action block\n", i)
	}
	r.Must(text)
	first := r.Snapshot()
	r.Must(text)
	if r.Snapshot() != first {
		t.Error("the second load gave other tables")
	}
}

// TestRekeyUnderTraffic: a rekey writes the new key and tunnel before the flow leads to them, and
// nothing else; a delete takes the lookup away first.
func TestRekeyUnderTraffic(t *testing.T) {
	r := newRig(t, fakebox.Sizes{SABits: 6, FlowBits: 7, SADBits: 7, Rules: 32, NextHops: 256, HostBits: 6, PeerBits: 6, Window: 4096, Suites: fakebox.Small.Suites})
	text := "addr add 192.0.2.1/24 dev black\n"
	for i := range 50 {
		text += testbox.State(i, "out") + testbox.FlowPolicy(i)
	}
	r.Must(text)
	for i := range 50 {
		action, sa, _, ok := r.Flow(fmt.Sprintf("10.1.0.%d", i), "10.2.0.0", 17, 7, uint16(1000+i))
		if !ok || action != regs.ActionProtect || sa != uint64(i) {
			t.Fatalf("flow %d: %d %d %t", i, action, sa, ok)
		}
	}
	// Rekey SA 3: the new one has the same reqid; then the old one goes.
	rekey := strings.Replace(testbox.State(3, "out"), "spi 4099", "spi 9999", 1)
	rekey = strings.Replace(rekey, "0x0", "0xf", 1)
	r.Quiet(rekey)
	if _, sa, _, _ := r.Flow("10.1.0.3", "10.2.0.0", 17, 7, 1003); sa != 50 {
		t.Errorf("after the rekey the flow leads to SA %d, not 50", sa)
	}
	var seen []string
	for _, w := range r.Fake.Log {
		seen = append(seen, w.Table)
	}
	if got := strings.Join(seen, " "); got != "outbound_key tunnel outbound_usage flow" {
		t.Errorf("the rekey wrote %s", got)
	}
	r.Quiet("xfrm state delete dst 192.0.2.2 proto esp spi 4099")
	seen = nil
	for _, w := range r.Fake.Log {
		seen = append(seen, fmt.Sprint(w.Table, w.Index, testbox.IsZero(w.Words)))
	}
	if got := strings.Join(seen, " "); got != "outbound_key3 true tunnel3 true" {
		t.Errorf("the delete wrote %s", got)
	}
	// Deleting the SA that is in use leaves its flow punting, so that IKE can be asked for another.
	r.Must("xfrm state delete dst 192.0.2.2 proto esp spi 9999")
	if action, _, _, ok := r.Flow("10.1.0.3", "10.2.0.0", 17, 7, 1003); !ok || action != regs.ActionPunt {
		t.Errorf("without an SA the flow has action %d", action)
	}
	if r.Fake.Log[0].Table != "flow" {
		t.Errorf("the flow still led to the SA when %s was written", r.Fake.Log[0].Table)
	}
}

// TestUpdate: an update is a new SA in a new row, so that no sequence counter starts again under
// the old key.
func TestUpdate(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Tunnel)
	r.Must("xfrm state update src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 64 aead \"rfc4106(gcm(aes))\" " + testbox.Key256 + " 128")
	if sa, ok := r.Sad(0x2001, "192.0.2.1"); !ok || sa != 1 {
		t.Errorf("the SAD leads to %d %t", sa, ok)
	}
	if row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[1]; row == nil || regs.SelectorRow.WindowSize.Get(row) != 64 {
		t.Error("the new selector row is missing")
	}
	if r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey)[0] != nil {
		t.Error("the old key is still there")
	}
}
