package box

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
)

// TestManySAs loads half the SAs of a full-size box each way, three quarters of the flow rows taken.
func TestManySAs(t *testing.T) {
	const count = 12 << 10
	r := newRig(t, fakebox.Sizes{SABits: 14, FlowBits: 14, SADBits: 14, Rules: 32, NextHops: 256, Window: 4096, Suites: fakebox.Small.Suites})
	var text strings.Builder
	for i := range count {
		text.WriteString(state(i, "out") + state(i, "in") + flowPolicy(i))
	}
	r.must(text.String())
	for _, table := range allTables {
		switch table.t.Name {
		case regs.InnerTableFlow.Name, regs.OuterTableSad.Name, regs.CryptoTableOutboundKey.Name, regs.CryptoTableInboundKey.Name, regs.OuterTableTunnel.Name:
			if rows := len(r.fake.Table(table.c, table.t)); rows != count {
				t.Errorf("%s holds %d rows, want %d", table.t.Name, rows, count)
			}
		}
	}
	if lines := strings.Count(r.notes, "\n"); lines != mostWarnings+1 {
		t.Errorf("%d lines of warnings", lines)
	}
	r.must("xfrm state count")
	if r.out != "\t SAD count 24576\n" {
		t.Error(r.out)
	}
}
