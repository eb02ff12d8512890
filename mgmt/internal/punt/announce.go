// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/xfrm"
)

// Announcement is the frame that announces an address to all hosts of a link: an ARP announcement
// (RFC 5227, 2.3), or an unsolicited neighbour advertisement with the override flag (RFC 4861,
// 7.2.6).
func Announcement(mac xfrm.MAC, ip netip.Addr) []byte {
	if ip.Is4() {
		return announceARP(mac, ip)
	}
	return announceND(mac, ip)
}

func announceARP(mac xfrm.MAC, ip netip.Addr) []byte {
	frame := ethernet(xfrm.MAC{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, mac, unix.ETH_P_ARP)
	// a request, of an Ethernet address for IPv4
	frame = append(frame, 0, 1, 0x08, 0x00, 6, 4, 0, 1)
	frame = append(append(frame, mac[:]...), ip.AsSlice()...)
	return append(append(frame, make([]byte, len(mac))...), ip.AsSlice()...)
}

var allNodes = netip.MustParseAddr("ff02::1")

func announceND(mac xfrm.MAC, ip netip.Addr) []byte {
	const advertisement, router, override, targetAddress = 136, 1 << 7, 1 << 5, 2
	message := append([]byte{advertisement, 0, 0, 0, router | override, 0, 0, 0}, ip.AsSlice()...)
	message = append(append(message, targetAddress, 1), mac[:]...)
	addresses := append(ip.AsSlice(), allNodes.AsSlice()...)
	// The pseudo-header of RFC 8200, 8.1, has length and protocol as numbers of 32 bits.
	sum := checksum(append(append(append([]byte(nil), addresses...), 0, 0, 0, byte(len(message)), 0, 0, 0, unix.IPPROTO_ICMPV6), message...))
	binary.BigEndian.PutUint16(message[2:], sum)
	frame := ethernet(xfrm.MAC{0x33, 0x33, 0, 0, 0, 1}, mac, unix.ETH_P_IPV6)
	// the hop limit that RFC 4861 asks for
	frame = append(frame, 0x60, 0, 0, 0, 0, byte(len(message)), unix.IPPROTO_ICMPV6, 255)
	return append(append(frame, addresses...), message...)
}

func ethernet(to, from xfrm.MAC, protocol uint16) []byte {
	return binary.BigEndian.AppendUint16(append(append([]byte(nil), to[:]...), from[:]...), protocol)
}

// checksum is that of RFC 1071; 0 of data with a right one in it.
func checksum(data []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	if len(data)%2 != 0 {
		sum += uint32(data[len(data)-1]) << 8
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return ^uint16(sum)
}
