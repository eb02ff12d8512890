// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestNode: the key row of a shared SA says whose its numbers are, and its limits in packets are
// limits of such numbers, as far as the row holds them.
func TestNode(t *testing.T) {
	f := regs.OutboundKeyRow
	for _, c := range []struct {
		words                    string
		bits, node, soft, number uint64
	}{
		{"", 0, 0, 0, 0},
		{"node 1 of 2", 1, 1, 0, 0},
		{"node 5 of 8 limit packet-soft 3 limit packet-hard 4", 3, 5, 3<<3 + 5, 4<<3 + 5},
		{"node 127 of 128 flag esn replay-window 64 limit packet-soft 2199023255550 limit packet-hard 562949953421310", 7, 127, 1<<48 - 1 - 128, 1<<56 - 1 - 128},
		{"node 127 of 128 flag esn replay-window 64 limit packet-soft 2199023255551 limit packet-hard 562949953421311", 7, 127, 1<<48 - 1, 1<<56 - 1},
		{"node 0 of 128 flag esn replay-window 64 limit packet-soft 2199023255552 limit packet-hard 72057594037927935", 7, 0, 1<<48 - 128, 1<<56 - 128},
		{"limit packet-soft 72057594037927935 flag esn replay-window 64", 0, 0, 1<<48 - 1, 0},
		// Without ESN the SA ends at 2^32 - 1.
		{"node 1 of 8 limit packet-soft 536870911 limit packet-hard 4294967295", 3, 1, 1<<32 - 7, 1<<32 - 7},
		{"limit packet-soft 4294967296", 0, 0, 1<<32 - 1, 0},
	} {
		r := newRig(t, fakebox.Small)
		r.Must("addr add 192.0.2.1/24 dev black\n" + sendingFrom("0x701", c.words))
		row := r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]
		got := []uint64{f.NodeBits.Get(row), f.Node.Get(row), f.SoftLimit.Get(row), f.HardLimit.Get(row)}
		if want := []uint64{c.bits, c.node, c.soft, c.number}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q gives %v, not %v", c.words, got, want)
		}
	}
}

// TestOlderChip: a crypto chip that knows no nodes would give each the same numbers.
func TestOlderChip(t *testing.T) {
	r := newRig(t, fakebox.Small)
	for _, c := range []struct {
		bits uint32
		want string
	}{{0, "the crypto chip names 0 bits of a node, and node 5 of 8 of the SA spi 0x701 needs 3: its bitstream is older"}, {2, "names 2 bits"}, {3, ""}} {
		r.Fake.Set(transport.Crypto, regs.CommonCapabilityNodeBits, c.bits)
		err := r.Run("addr add 192.0.2.1/24 dev black\n" + sendingFrom("0x701", "node 5 of 8"))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bits: %v", c.bits, err)
		}
	}
}

// TestLivingKey: a key that an SA has, or loses with the same change, is not another one's, though
// that goes on above a number.
func TestLivingKey(t *testing.T) {
	for _, node := range []string{"", "node 1 of 2 "} {
		r := newRig(t, fakebox.Small)
		r.Remembers = true
		again := func(spi string) string { return sendingFrom(spi, node+"replay-oseq 1") }
		drop := "xfrm state delete dst 198.51.100.1 proto esp spi 0x701\n"
		r.Must("addr add 192.0.2.1/24 dev black\n" + sendingFrom("0x701", node))
		for _, text := range []string{again("0x702"), strings.Replace(again("0x701"), "add", "update", 1), drop + again("0x701"), drop + again("0x702")} {
			if err := r.Run(text); err == nil || !strings.Contains(err.Error(), "the outbound SA spi 0x701, which is there or goes with this change, has the key") {
				t.Errorf("%s gave %v", text, err)
			}
		}
		r.Must(drop)
		r.Must(again("0x702"))
		if err := r.Run(again("0x703")); err == nil || !strings.Contains(err.Error(), "the outbound SA spi 0x702") {
			t.Errorf("gave %v", err)
		}
	}
}

// TestNodeStays: under one key no SA becomes another node's, though it goes on above a number, nor
// one of inbound packets.
func TestNodeStays(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Remembers = true
	r.Must("addr add 192.0.2.1/24 dev black\n" + sendingFrom("0x701", "node 1 of 4"))
	drop := "xfrm state delete dst 198.51.100.1 proto esp spi "
	r.Must(drop + "0x701\n")
	for _, c := range []struct{ words, want string }{
		{"node 1 of 4", "had the key"},
		{"node 2 of 4 replay-oseq 9", "with another node"},
		{"node 1 of 8 replay-oseq 9", "with another node"},
		{"replay-oseq 9", "with another node"},
		{"node 1 of 4 replay-oseq 9", ""},
	} {
		for _, text := range []string{sendingFrom("0x701", c.words), sendingFrom("0x702", c.words)} {
			err := r.Run(text)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s gave %v", text, err)
			}
			if err == nil {
				r.Must(drop + regexp.MustCompile("0x70.").FindString(text) + "\n")
			}
		}
	}
	// The direction is known behind the words: no out policy names it, and its dst is the box's.
	inbound := "xfrm state add src 198.51.100.1 dst 192.0.2.1 proto esp spi 0x702 mode tunnel node 1 of 4 aead \"rfc4106(gcm(aes))\" " + testbox.Key128 + " 128\n"
	if err := r.Run(inbound); err == nil || !strings.Contains(err.Error(), "node 1 of 4 is of the numbers that an outbound SA sends") {
		t.Errorf("gave %v", err)
	}
}
