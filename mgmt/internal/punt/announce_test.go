// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/hex"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/xfrm"
)

// TestAnnouncement: the bytes are scapy's, of
// Ether(dst="ff:ff:ff:ff:ff:ff")/ARP(op=1, hwsrc=MAC, psrc=IP, pdst=IP) and
// Ether(dst="33:33:00:00:00:01")/IPv6(src=IP, dst="ff02::1", hlim=255)/ICMPv6ND_NA(R=1, S=0, O=1,
// tgt=IP)/ICMPv6NDOptDstLLAddr(lladdr=MAC).
func TestAnnouncement(t *testing.T) {
	mac := xfrm.MAC{0x02, 0x62, 0xC0, 0x00, 0x02, 0x01}
	for ip, want := range map[string]string{
		"192.0.2.1":     "ffffffffffff0262c0000201080600010800060400010262c0000201c0000201000000000000c0000201",
		"2001:db8::1:1": "3333000000010262c000020186dd6000000000203aff20010db8000000000000000000010001ff0200000000000000000000000000018800b6c5a000000020010db800000000000000000001000102010262c0000201",
	} {
		if got := hex.EncodeToString(Announcement(mac, netip.MustParseAddr(ip))); got != want {
			t.Errorf("%s:\n%s\n%s", ip, got, want)
		}
	}
}
