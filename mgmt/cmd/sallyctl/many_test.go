// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestTenThousandSAs: one batch brings 10,000 SAs through the simulator's register socket to chips
// with room for 16 Ki a direction. Each is listed, and in the rows of its direction. `go test -v`
// prints the time that it took; tests/box/many_sas.py does the same with simulated chips.
func TestTenThousandSAs(t *testing.T) {
	const tunnels = 5000
	sizes := fakebox.Small
	sizes.SABits, sizes.FlowBits, sizes.SADBits = 14, 14, 14
	w := newWorldOf(t, sizes)
	var text strings.Builder
	text.WriteString("addr add 192.0.2.1/24 dev black\n")
	for i := range tunnels {
		red, far := fmt.Sprintf("198.18.%d.%d/32", i/256, i%256), fmt.Sprintf("198.19.%d.%d/32", i/256, i%256)
		for _, way := range []struct {
			ends, dir, src, dst string
			key                 int
		}{{"src 192.0.2.1 dst 192.0.2.2", "out", red, far, 1}, {"src 192.0.2.2 dst 192.0.2.1", "in", far, red, 2}} {
			fmt.Fprintf(&text, "xfrm state add %s proto esp spi %#x reqid %d mode tunnel replay-window 1024 flag esn aead 'rfc4106(gcm(aes))' 0x%064x%08x 128\n", way.ends, 0x1000+i, i+1, way.key<<20+i, i)
			fmt.Fprintf(&text, "xfrm policy add src %s dst %s proto udp sport 4096 dport 4097 dir %s tmpl %s proto esp reqid %d mode tunnel\n", way.src, way.dst, way.dir, way.ends, i+1)
		}
	}
	file := w.file("many", text.String())
	began := time.Now()
	if code, _, errs, sentence := run("--socket", w.socket, "-batch", file); code != 0 {
		t.Fatalf("%d %s %s", code, errs, sentence)
	}
	took := time.Since(began)
	t.Logf("%d SAs and as many policies: %v, %v an SA", 2*tunnels, took.Round(time.Millisecond), (took / (2 * tunnels)).Round(time.Microsecond))

	if _, out, _, _ := run("--socket", w.socket, "xfrm", "state", "count"); out != "\t SAD count 10000\n" {
		t.Error(out)
	}
	_, list, _, _ := run("--socket", w.socket, "xfrm", "state", "list")
	listed := map[string]int{}
	for _, line := range strings.Split(list, "\n") {
		listed[line]++
	}
	for i := range tunnels {
		if n := listed[fmt.Sprintf("\tproto esp spi 0x%08x reqid %d mode tunnel", 0x1000+i, i+1)]; n != 2 {
			t.Fatalf("the SPI 0x%x is listed %d times", 0x1000+i, n)
		}
	}
	for _, table := range []struct {
		chip  transport.Chip
		table regs.Table
	}{
		{transport.Crypto, regs.CryptoTableOutboundKey}, {transport.Crypto, regs.CryptoTableInboundKey}, {transport.Outer, regs.OuterTableTunnel},
		{transport.Outer, regs.OuterTableSad}, {transport.Inner, regs.InnerTableFlow}, {transport.Inner, regs.InnerTableSelector},
	} {
		if rows := len(w.fake.Table(table.chip, table.table)); rows != tunnels {
			t.Errorf("%s has %d rows", table.table.Name, rows)
		}
	}
}
