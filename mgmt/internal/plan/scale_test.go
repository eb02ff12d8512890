// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// flowPolicy6 is flowPolicy for IPv6 in the same tunnels.
func flowPolicy6(i int) string {
	return fmt.Sprintf("xfrm policy add src 2001:db8:1::%x dst 2001:db8:2::%x proto tcp sport 7 dport %d dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel\n", i%256, i/256, 1000+i, i+1)
}

// over6 gives a line of one of the tunnels IPv6 ends.
var over6 = strings.NewReplacer("192.0.2.", "2001:db8:b::")

// TestManySAs loads three quarters of the SAs of a full-size box each way, and as many flow rows:
// every other flow is of IPv6, and of each four tunnels two have IPv6 ends.
func TestManySAs(t *testing.T) {
	const count = 12 << 10
	r := newRig(t, fakebox.Sizes{SABits: 14, FlowBits: 14, SADBits: 14, Rules: 32, NextHops: 256, HostBits: 6, PeerBits: 6, Window: 4096, Suites: fakebox.Small.Suites})
	var text strings.Builder
	for i := range count {
		lines := testbox.State(i, "out") + testbox.State(i, "in") + testbox.FlowPolicy(i)
		if i%2 == 1 {
			lines = testbox.State(i, "out") + testbox.State(i, "in") + flowPolicy6(i)
		}
		if i%4 >= 2 {
			lines = over6.Replace(lines)
		}
		text.WriteString(lines)
	}
	r.Must(text.String())
	for _, table := range testbox.AllTables {
		switch table.T.Name {
		case regs.InnerTableFlow.Name, regs.OuterTableSad.Name, regs.CryptoTableOutboundKey.Name, regs.CryptoTableInboundKey.Name, regs.OuterTableTunnel.Name:
			if rows := len(r.Fake.Table(table.C, table.T)); rows != count {
				t.Errorf("%s holds %d rows, want %d", table.T.Name, rows, count)
			}
		}
	}
	for _, i := range []int{0, count - 2} {
		if _, sa, _, ok := r.Flow(fmt.Sprintf("10.1.0.%d", i%256), fmt.Sprintf("10.2.0.%d", i/256), 17, 7, uint16(1000+i)); !ok || sa != uint64(i) {
			t.Errorf("IPv4 flow %d leads to %d, %t", i, sa, ok)
		}
		i++
		if _, sa, _, ok := r.Flow(fmt.Sprintf("2001:db8:1::%x", i%256), fmt.Sprintf("2001:db8:2::%x", i/256), 6, 7, uint16(1000+i)); !ok || sa != uint64(i) {
			t.Errorf("IPv6 flow %d leads to %d, %t", i, sa, ok)
		}
	}
	for i := range count {
		dst, other := "192.0.2.1", "2001:db8:b::1"
		if i%4 >= 2 {
			dst, other = other, dst
		}
		row := r.SadRow(uint32(0x1000+i), dst)
		if row == nil || regs.SadRow.Sa.Get(row) != uint64(i) || r.SadRow(uint32(0x1000+i), other) != nil {
			t.Fatalf("spi 0x%x at %s leads to %x", 0x1000+i, dst, row)
		}
	}
	if lines := strings.Count(r.Notes, "\n"); lines != 21 {
		t.Errorf("%d lines of warnings", lines)
	}
	r.Must("xfrm state count")
	if r.Out != "\t SAD count 24576\n" {
		t.Error(r.Out)
	}
}

// TestFullTables loads what a full-size box holds, 64 Ki SAs each way with a flow each, as
// `./sallyport rfc2544 --sas 65536` does: only rows that a cuckoo table moves are written twice,
// and every row is found as a packet finds it. Flows between hosts that follow each other fill the
// table of flows to its last row.
func TestFullTables(t *testing.T) {
	const count = 1 << 16
	r := newRig(t, fakebox.Sizes{SABits: 16, FlowBits: 16, SADBits: 17, Rules: 1024, NextHops: 256, HostBits: 6, PeerBits: 6, Window: 4096, Suites: fakebox.Small.Suites})
	host := func(net, i int) string { return fmt.Sprintf("198.%d.%d.%d", net, i/256, i%256) }
	var text strings.Builder
	text.WriteString("addr add 192.0.2.1/24 dev black\n")
	for _, way := range []struct {
		dir, end            string
		key, srcNet, dstNet int
	}{{"out", "src 192.0.2.1 dst 192.0.2.2", 1, 18, 19}, {"in", "src 192.0.2.2 dst 192.0.2.1", 2, 19, 18}} {
		for i := range count {
			fmt.Fprintf(&text, "xfrm state add %s proto esp spi %#x reqid %d mode tunnel replay-window 1024 flag esn aead 'rfc4106(gcm(aes))' 0x%064x%08x 128\n", way.end, 0x1000+i, i+1, way.key<<20+i, i)
			fmt.Fprintf(&text, "xfrm policy add src %s/32 dst %s/32 proto udp sport 4096 dport 4097 dir %s tmpl %s proto esp reqid %d mode tunnel\n", host(way.srcNet, i), host(way.dstNet, i), way.dir, way.end, i+1)
		}
	}
	r.Quiet(text.String())
	writes := map[string]int{}
	for _, row := range r.Fake.Log {
		writes[row.Table]++
	}
	want := map[string]int{
		regs.CryptoTableOutboundKey.Name: count, regs.CryptoTableInboundKey.Name: count, regs.OuterTableTunnel.Name: count,
		regs.InnerTableSelector.Name: count, regs.InnerTableOutboundUsage.Name: count, regs.InnerTableInboundUsage.Name: count,
		regs.InnerTablePolicyUsage.Name: count - 1, // row 0 is of policies that have none
		regs.InnerTableFlow.Name:        count + count/8, regs.OuterTableSad.Name: count + 0,
		regs.OuterTablePeer.Name: 1,
	}
	if !maps.Equal(writes, want) {
		t.Errorf("%v rows are written, want %v", writes, want)
	}
	for table, rows := range map[*regs.Table]int{&regs.InnerTableFlow: len(r.Fake.Table(transport.Inner, regs.InnerTableFlow)), &regs.OuterTableSad: len(r.Fake.Table(transport.Outer, regs.OuterTableSad))} {
		if rows != count {
			t.Errorf("%s holds %d rows, want %d", table.Name, rows, count)
		}
	}
	f := regs.FlowRow
	for i := range count {
		row := r.FlowRow(host(18, i), host(19, i), 17, 4096, 4097)
		if row == nil || f.Sa.Get(row) != uint64(i) || f.Action.Get(row) != regs.ActionProtect {
			t.Fatalf("flow %d leads to %x", i, row)
		}
		if row := r.SadRow(uint32(0x1000+i), "192.0.2.1"); row == nil || regs.SadRow.Sa.Get(row) != uint64(i) {
			t.Fatalf("spi %#x leads to %x", 0x1000+i, row)
		}
		for _, table := range testbox.AllTables {
			switch table.T.Name {
			case regs.CryptoTableOutboundKey.Name, regs.CryptoTableInboundKey.Name, regs.OuterTableTunnel.Name, regs.InnerTableSelector.Name:
				if r.Fake.Table(table.C, table.T)[i] == nil {
					t.Fatalf("%s has no row %d", table.T.Name, i)
				}
			}
		}
	}
}
