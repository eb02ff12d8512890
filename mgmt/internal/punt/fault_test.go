// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/xfrm"
)

const (
	short4 = "45000020000700000111a5c10a0100020a0200010007829a000ca46861626364"
	short6 = "60000000000c110120010db800010000000000000000000220010db80002000000000000000000010007829a000c5cf661626364"
)

// TestAnswer: the bytes are scapy's, of Ether(dst=HOST, src=PORT)/IP(src=PORT, dst=HOST, tos=0xc0,
// id=0, flags="DF")/ICMP(type=11)/… and Ether(…)/IPv6(src=PORT, dst=HOST, hlim=64)/
// ICMPv6TimeExceeded()/…, and of ICMP(type=3, code=13) and ICMPv6DestUnreach(code=1). The padding
// of a short frame is not quoted, and of a long packet no more than an answer of 576 or 1280
// bytes holds.
func TestAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		head, packet, from string
		fault              Fault
		want               string // before the quoted packet
	}{
		"TTL": {
			headOf + "0800", short4, "10.1.0.1", TimeExceeded,
			headBack + "080045c0003c00004000400125fd0a0100010a0100020b00092300000000",
		},
		"hop limit": {
			headOf + "86dd", short6, "2001:db8:1::1", TimeExceeded,
			headBack + "86dd60000000003c3a4020010db800010000000000000000000120010db80001000000000000000000020300302200000000",
		},
		"prohibited": {
			headOf + "0800", short4, "10.1.0.1", Prohibited,
			headBack + "080045c0003c00004000400125fd0a0100010a010002030d111600000000",
		},
		"prohibited, IPv6": {
			headOf + "86dd", short6, "2001:db8:1::1", Prohibited,
			headBack + "86dd60000000003c3a4020010db800010000000000000000000120010db80001000000000000000000020101322100000000",
		},
		"to a group of stations":   {"01005e000001" + "020000000102" + "0800", short4, "10.1.0.1", TimeExceeded, ""},
		"from a group of stations": {"02720a010001" + "030000000102" + "0800", short4, "10.1.0.1", TimeExceeded, ""},
		"no IP":                    {headOf + "0806", "0001080006040001" + "0001080006040001" + "0001080006040001", "10.1.0.1", TimeExceeded, ""},
		"less than a header":       {headOf + "86dd", short6[:78], "2001:db8:1::1", TimeExceeded, ""},
	} {
		padded := append(unhex(t, test.packet), make([]byte, 14)...)
		if name == "less than a header" {
			padded = unhex(t, test.packet)
		}
		got, ok := Answer(unhex(t, test.head), padded, netip.MustParseAddr(test.from), test.fault)
		if want := test.want + test.packet; ok != (test.want != "") || ok && hex.EncodeToString(got) != want {
			t.Errorf("%s: %t\n%x\n%s", name, ok, got, want)
		}
	}
	for _, test := range []struct {
		head, packet, from string
		length, most       int
	}{{"0800", packet4, "10.1.0.1", 1400, 576}, {"86dd", packet6, "2001:db8:1::1", 1500, 1280}} {
		packet := append(unhex(t, test.packet), make([]byte, test.length-len(test.packet)/2)...)
		if got, ok := Answer(unhex(t, headOf+test.head), packet, netip.MustParseAddr(test.from), TimeExceeded); !ok || len(got) != 14+test.most {
			t.Errorf("an answer of %d bytes, want %d", len(got), 14+test.most)
		}
	}
}

func host(text string) netip.Prefix {
	addr := netip.MustParseAddr(text)
	return netip.PrefixFrom(addr, addr.BitLen())
}

// TestAnswerable: what ICMP may answer, and what it may not (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e).
func TestAnswerable(t *testing.T) {
	for packet, want := range map[string]bool{
		"10.1.0.2 10.2.0.1 17 -1": true, "0.0.0.0 10.2.0.1 17 -1": false, "0.1.0.2 10.2.0.1 17 -1": false,
		"127.0.0.1 10.2.0.1 17 -1": false, "224.0.0.1 10.2.0.1 17 -1": false, "239.255.255.255 10.2.0.1 17 -1": false,
		"223.255.255.255 10.2.0.1 17 -1": true, "240.0.0.1 10.2.0.1 17 -1": false, "255.255.255.255 10.2.0.1 17 -1": false,
		"169.254.0.1 10.2.0.1 17 -1": false, "10.1.0.2 224.0.0.1 17 -1": false, "10.1.0.2 255.255.255.255 17 -1": false,
		"10.1.0.2 10.2.0.1 1 8": true, "10.1.0.2 10.2.0.1 1 0": true, "10.1.0.2 10.2.0.1 1 -1": false,
		"10.1.0.2 10.2.0.1 1 3": false, "10.1.0.2 10.2.0.1 1 4": false, "10.1.0.2 10.2.0.1 1 5": false,
		"10.1.0.2 10.2.0.1 1 11": false, "10.1.0.2 10.2.0.1 1 12": false, "10.1.0.2 10.2.0.1 1 200": false,
		"2001:db8::2 2001:db8:2::1 17 -1": true, "fe80::2 2001:db8:2::1 17 -1": false, ":: 2001:db8:2::1 17 -1": false,
		"ff02::2 2001:db8:2::1 17 -1": false, "2001:db8::2 2001:db8:2::1 58 128": true, "2001:db8::2 2001:db8:2::1 58 127": false,
		"2001:db8::2 2001:db8:2::1 58 136": true, "2001:db8::2 2001:db8:2::1 58 137": false,
		"2001:db8::2 2001:db8:2::1 58 3": false, "2001:db8::2 ff0e::1 17 -1": false, "2001:db8::2 ff02::1 58 128": false, "2001:db8::2 2001:db8:2::1 58 -1": false,
	} {
		var src, dst string
		var proto, kind int
		if _, err := fmt.Sscan(packet, &src, &dst, &proto, &kind); err != nil {
			t.Fatal(err)
		}
		s := xfrm.Selector{Src: host(src), Dst: host(dst), Proto: uint8(proto)}
		if kind >= 0 {
			s.Type = xfrm.One(uint16(kind))
		}
		group := s.Dst.Addr().Is6() && s.Dst.Addr().IsMulticast()
		if got, tooBig := Answerable(s, false), Answerable(s, true); got != want || tooBig != (want || group) {
			t.Errorf("%s: %t, as Packet Too Big %t", packet, got, tooBig)
		}
	}
}

// TestLaterFragments: nothing is read of a later fragment, so nothing answers it; a first one and
// an atomic one are read.
func TestLaterFragments(t *testing.T) {
	v6 := "60000000%s2c4020010db800010000000000000000000220010db80002000000000000000000011100%s000000010007829a000c5cf661626364"
	for name, test := range map[string]struct {
		kind, packet string
		want         bool
	}{
		"IPv4, first":        {"0800", short4[:12] + "2000" + short4[16:], true},
		"IPv4, at 8":         {"0800", short4[:12] + "2001" + short4[16:], false},
		"IPv4, the last one": {"0800", short4[:12] + "1fff" + short4[16:], false},
		"IPv6, first":        {"86dd", fmt.Sprintf(v6, "0014", "0001"), true},
		"IPv6, atomic":       {"86dd", fmt.Sprintf(v6, "0014", "0000"), true},
		"IPv6, at 8":         {"86dd", fmt.Sprintf(v6, "0014", "0008"), false},
		"IPv6, the last one": {"86dd", fmt.Sprintf(v6, "0014", "fff8"), false},
	} {
		if _, ok := ReadPacket(unhex(t, headOf+test.kind+test.packet), xfrm.AllExtensionHeaders); ok != test.want {
			t.Errorf("%s: %t", name, ok)
		}
	}
}
