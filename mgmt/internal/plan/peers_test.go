// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// peers are the addresses in the rows of the table, sorted.
func (r *rig) peers() string {
	var out []string
	for _, row := range r.Fake.Table(transport.Outer, regs.OuterTablePeer) {
		if regs.PeerRow.Valid.Get(row) == 0 {
			continue
		}
		bytes := testbox.RowBytes(row)[:16]
		slices.Reverse(bytes)
		addr := netip.AddrFrom16([16]byte(bytes))
		if regs.PeerRow.Version.Get(row) == 4 {
			addr = netip.AddrFrom4([4]byte(bytes[12:]))
		}
		out = append(out, addr.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestPeers: the far end of each SA and of each policy has a row, as long as either is there; no
// change of others writes it.
func TestPeers(t *testing.T) {
	r := newRig(t, fakebox.Small)
	step := func(text string, writes int, want string) {
		t.Helper()
		r.Must(text)
		r.Want(text, r.peers(), want)
		if wrote := len(r.Fake.LogOf(regs.OuterTablePeer)); wrote != writes {
			t.Errorf("%s: %d rows were written, want %d", text, wrote, writes)
		}
	}
	out := func(far string, spi int) string { return testbox.Sa6("192.0.2.1", far, spi, spi, "dir out") }
	in := func(far string, spi int) string { return testbox.Sa6(far, "192.0.2.1", spi, spi, "dir in") }
	del := func(src, dst string, spi int) string {
		return fmt.Sprintf("xfrm state delete src %s dst %s proto esp spi 0x%x\n", src, dst, spi)
	}
	policy := func(verb, far, tmpl string) string {
		return fmt.Sprintf("xfrm policy %s src 10.0.0.0/8 dst %s dir out %s\n", verb, far, tmpl)
	}
	const both = "192.0.2.2 2001:db8:b::2"
	step("addr add 192.0.2.1/24 dev black\naddr add 2001:db8:b::1/64 dev black\n", 0, "")
	step(out("192.0.2.2", 1), 1, "192.0.2.2")
	step(in("192.0.2.2", 2)+in("192.0.2.2", 3), 0, "192.0.2.2")
	step(testbox.Sa6("2001:db8:b::2", "2001:db8:b::1", 4, 4, "dir in"), 1, both)
	step(del("192.0.2.1", "192.0.2.2", 1)+del("192.0.2.2", "192.0.2.1", 2), 0, both)
	step(del("192.0.2.2", "192.0.2.1", 3), 1, "2001:db8:b::2")
	// A policy that waits for IKE to set up its SA names its peer.
	step(policy("add", "10.2.0.0/16", "tmpl src 192.0.2.1 dst 192.0.2.9 proto esp reqid 9 mode tunnel"), 1, "192.0.2.9 2001:db8:b::2")
	step(out("192.0.2.9", 9), 0, "192.0.2.9 2001:db8:b::2")
	step(policy("delete", "10.2.0.0/16", ""), 0, "192.0.2.9 2001:db8:b::2")
	step(del("192.0.2.1", "192.0.2.9", 9), 1, "2001:db8:b::2")
	// The whole is computed anew as its parts were.
	step(policy("update", "10.2.0.0/16", "tmpl src 192.0.2.1 dst 192.0.2.8 proto esp reqid 9 mode tunnel"), 1, "192.0.2.8 2001:db8:b::2")
	step(policy("update", "10.2.0.0/16", "tmpl src 192.0.2.1 dst 192.0.2.7 proto esp reqid 9 mode tunnel"), 2, "192.0.2.7 2001:db8:b::2")
	step("addr add 10.1.0.1/24 dev red\n", 0, "192.0.2.7 2001:db8:b::2")
	step("xfrm state flush\nxfrm policy flush\n", 2, "")
}

// TestPeersWithoutRoom: more peers than rows are policed as other addresses, and no change fails
// for them.
func TestPeersWithoutRoom(t *testing.T) {
	sizes := fakebox.Small
	sizes.PeerBits = 3
	r := newRig(t, sizes)
	var text strings.Builder
	for n := range 9 {
		text.WriteString(testbox.Sa6(fmt.Sprintf("198.51.100.%d", n), "192.0.2.1", n+1, n+1, "dir in"))
	}
	r.Must(text.String())
	rows := len(strings.Fields(r.peers()))
	if left := 9 - rows; left < 1 || !strings.Contains(r.Notes, fmt.Sprintf("peers without room: %d; their IKE is policed as that of other addresses (of the peer table's 8 rows", left)) {
		t.Errorf("%d rows; %s", rows, r.Notes)
	}
}
