// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/hex"
	"net/netip"
	"testing"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const (
	headOf   = "02720a010001" + "020000000102"
	headBack = "020000000102" + "02720a010001"
	// 1400 bytes of UDP with DF
	packet4   = "4500057800074000401121690a0100020a0200010007000905640000"
	packet6   = "6000000005b4114020010db8000100000000000000000002" + "20010db8000200000000000000000001" + "0007000905b41234"
	cuttable4 = "4500057800070000401161690a0100020a0200010007000905640000"
)

// TestTooBig: the bytes are scapy's, of Ether(dst=HOST, src=PORT)/IP(src=PORT, dst=HOST, tos=0xc0,
// id=0, flags="DF")/ICMP(type=3, code=4, nexthopmtu=MTU)/… and Ether(…)/IPv6(src=PORT, dst=HOST,
// hlim=64)/ICMPv6PacketTooBig(mtu=MTU)/…, of UDP with zeros behind it.
func TestTooBig(t *testing.T) {
	for name, test := range map[string]struct {
		tags, packet string
		length       int
		from         string
		mtu          uint32
		want         string // before the quoted packet
		quoted       int
	}{
		"IPv4": {
			"0800", packet4, 1400, "10.1.0.1", 1238,
			"080045c0024000004000400123f90a0100010a0100020304f2b1000004d6", 548,
		},
		"IPv4 in a VLAN": {
			"810020070800", packet4, 1400, "10.1.0.1", 1238,
			"81002007080045c0024000004000400123f90a0100010a0100020304f2b1000004d6", 548,
		},
		"IPv6": {
			"86dd", packet6, 1500, "2001:db8:1::1", 1326,
			"86dd6000000004d83a4020010db800010000000000000000000120010db80001000000000000000000020200ade30000052e", 1232,
		},
		"no longer than the MTU":     {"0800", packet4, 1400, "10.1.0.1", 1400, "", 0},
		"may be cut":                 {"0800", cuttable4, 1400, "10.1.0.1", 1238, "", 0},
		"IPv6 longer than the least": {"86dd", packet6, 1500, "2001:db8:1::1", 1500, "", 0},
		"neither":                    {"0806", "00010800060400010272", 100, "10.1.0.1", 60, "", 0},
	} {
		packet := append(unhex(t, test.packet), make([]byte, test.length-len(test.packet)/2)...)
		got, ok := TooBig(unhex(t, headOf+test.tags), packet, netip.MustParseAddr(test.from), test.mtu)
		if test.want == "" {
			if ok {
				t.Errorf("%s: %x", name, got)
			}
			continue
		}
		if want := headBack + test.want + hex.EncodeToString(packet[:test.quoted]); hex.EncodeToString(got) != want {
			t.Errorf("%s:\n%x\n%s", name, got, want)
		}
	}
	// An MTU below what IPv6 needs is told as that; to what a group of stations got there is
	// no answer.
	packet := append(unhex(t, packet6), make([]byte, 1500-len(packet6)/2)...)
	if got, ok := TooBig(unhex(t, headOf+"86dd"), packet, netip.MustParseAddr("2001:db8:1::1"), 1000); !ok || hex.EncodeToString(got[54+4:54+8]) != "00000500" {
		t.Errorf("%x", got)
	}
	if got, ok := TooBig(unhex(t, "333300000001"+"020000000102"+"86dd"), packet, netip.MustParseAddr("2001:db8:1::1"), 1300); ok {
		t.Errorf("%x", got)
	}
}
