// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/hex"
	"testing"
)

// Packets of scapy, by their TTL or hop limit: IP(src="10.1.0.2", dst="10.2.0.1", id=7, ttl=…)/…
// and IPv6(src="2001:db8:1::2", dst="2001:db8:2::1", hlim=…)/UDP(sport=7, dport=33434)/b"abcd".
var (
	ttl4 = map[int]string{
		64: "4500002000070000401166c10a0100020a0200010007829a000ca46861626364",
		63: "45000020000700003f1167c10a0100020a0200010007829a000ca46861626364",
		2:  "45000020000700000211a4c10a0100020a0200010007829a000ca46861626364",
		1:  "45000020000700000111a5c10a0100020a0200010007829a000ca46861626364",
		0:  "45000020000700000011a6c10a0100020a0200010007829a000ca46861626364",
	}
	limit6 = map[int]string{
		64: "60000000000c114020010db800010000000000000000000220010db80002000000000000000000010007829a000c5cf661626364",
		63: "60000000000c113f20010db800010000000000000000000220010db80002000000000000000000010007829a000c5cf661626364",
		1:  "60000000000c110120010db800010000000000000000000220010db80002000000000000000000010007829a000c5cf661626364",
	}
)

// TestForward: a router lowers the TTL by one, and IPv4's checksum is scapy's. Padding is gone.
func TestForward(t *testing.T) {
	const station, port = "020000000009", "02720a010001"
	for name, test := range map[string]struct{ kind, packet, to, want string }{
		"IPv4":                       {"0800", ttl4[64], "10.2.0.1", ttl4[63]},
		"IPv6":                       {"86dd", limit6[64], "2001:db8:2::1", limit6[63]},
		"the last hop but one":       {"0800", ttl4[2], "10.2.0.1", ttl4[1]},
		"the last hop":               {"0800", ttl4[1], "10.2.0.1", ""},
		"the last hop, IPv6":         {"86dd", limit6[1], "2001:db8:2::1", ""},
		"no hop":                     {"0800", ttl4[0], "10.2.0.1", ""},
		"less than its length":       {"0800", ttl4[64][:62], "", ""},
		"less than its length, IPv6": {"86dd", limit6[64][:102], "", ""},
		"less than a header":         {"0800", ttl4[64][:38], "", ""},
		"neither IPv4 nor IPv6":      {"0806", "55" + ttl4[64][2:], "", ""},
	} {
		frame := unhex(t, port+port+test.kind+test.packet)
		if test.to != "" {
			frame = append(frame, make([]byte, 9)...)
		}
		to, length, whole := Destination(frame)
		if whole != (test.to != "") || whole && (to.String() != test.to || length != len(test.packet)/2) {
			t.Errorf("%s: %t, to %s, %d bytes", name, whole, to, length)
		}
		for _, tags := range []string{"", "8100000a"} {
			got, ok := Forward(frame, [6]byte(unhex(t, station)), unhex(t, tags))
			if want := station + port + tags + test.kind + test.want; ok != (test.want != "") || ok && hex.EncodeToString(got) != want {
				t.Errorf("%s: %t\n%x\n%s", name, ok, got, want)
			}
		}
	}
}
