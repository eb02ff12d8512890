// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
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

// sadEncap is the flag of the SAD's row of an SPI at 192.0.2.1.
func (r *rig) sadEncap(spi uint64) uint64 {
	for _, row := range r.Fake.Table(transport.Outer, regs.OuterTableSad) {
		if regs.SadRow.Spi.Get(row) == spi {
			return regs.SadRow.Encap.Get(row)
		}
	}
	r.T.Fatalf("no SAD row of spi 0x%x", spi)
	return 0
}

func TestEncap(t *testing.T) {
	r := newRig(t, fakebox.Small)
	f := regs.TunnelRow
	ports := func() [3]uint64 {
		row := r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0]
		return [3]uint64{f.Encap.Get(row), f.SrcPort.Get(row), f.DstPort.Get(row)}
	}
	r.Quiet(testbox.Tunnel)
	if got := ports(); got != [3]uint64{} || r.sadEncap(0x2001) != 0 {
		t.Errorf("without encap the tunnel row has %v, the SAD's row %d", got, r.sadEncap(0x2001))
	}
	r.Must("xfrm state flush\nxfrm policy flush\naddr del 10.1.0.1/24 dev red\naddr del 192.0.2.1/24 dev black\nroute del 10.2.0.0/16\nneigh del 192.0.2.2 dev black\nneigh del 10.1.0.9 dev red")
	r.Must(testbox.Encapsulated)
	if got := ports(); got != [3]uint64{1, 4500, 61000} || r.sadEncap(0x2001) != 1 {
		t.Errorf("with encap the tunnel row has %v, the SAD's row %d", got, r.sadEncap(0x2001))
	}
	// What a later invocation knows of it, from the state file.
	r.Quiet("xfrm state list")
	for _, want := range []string{
		"aead rfc4106(gcm(aes)) <redacted> 128\n\tencap type espinudp sport 4500 dport 61000 addr 0.0.0.0\n",
		"\tencap type espinudp sport 61000 dport 4500 addr 10.9.8.7\n",
	} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("the list lacks %q:\n%s", want, r.Out)
		}
	}
}

// TestEncapOverIPv6: the rows have UDP and ports, and expect the peer nowhere, for the chip has no
// place for its address.
func TestEncapOverIPv6(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must("addr add " + near6 + "/64 dev black\n" + testbox.Sa6(near6, far6, 0x1001, 1, "encap espinudp 4500 61000 ::") + testbox.Sa6(far6, near6, 0x2001, 1, "encap espinudp 61000 4500 ::"))
	out, in := regs.TunnelRow, regs.SadRow
	tunnel, sad := compile.Row(nil), compile.Row(nil)
	for _, row := range r.Fake.Table(transport.Outer, regs.OuterTableTunnel) {
		tunnel = row
	}
	for _, row := range r.Fake.Table(transport.Outer, regs.OuterTableSad) {
		sad = row
	}
	if got := []uint64{out.V6.Get(tunnel), out.Encap.Get(tunnel), out.SrcPort.Get(tunnel), out.DstPort.Get(tunnel)}; !slices.Equal(got, []uint64{1, 1, 4500, 61000}) {
		t.Errorf("the tunnel row has %v", got)
	}
	if in.Encap.Get(sad) != 1 || in.PeerPort.Get(sad) != 0 || in.PeerAddr.Get(sad) != 0 {
		t.Errorf("the SAD's row has encap %d, peer %x port %d", in.Encap.Get(sad), in.PeerAddr.Get(sad), in.PeerPort.Get(sad))
	}
}

// TestInboundEncapPort: an SA that turns out to be inbound needs port 4500, and nothing is
// written otherwise.
func TestInboundEncapPort(t *testing.T) {
	r := newRig(t, fakebox.Small)
	err := r.Run(strings.Replace(testbox.Encapsulated, "espinudp 61000 4500", "espinudp 61000 4501", 1))
	if err == nil || !strings.HasPrefix(err.Error(), "f:8: ESP in UDP is received at port 4500 alone") || !session.IsInput(err) {
		t.Errorf("%v", err)
	}
	if r.Fake.Writes != 0 {
		t.Error("something was written")
	}
}
