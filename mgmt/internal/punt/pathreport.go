// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// ReadPathReport reads what ICMP type 3 code 4 (RFC 1191, 4) or ICMPv6 Packet Too Big (RFC 4443,
// 3.2) says about an ESP packet that its receiver sent, in UDP or not. It is false of any other
// frame: the checksum is wrong, the packet in the message is another's, could have been cut, is a
// later fragment, or is quoted only up to in front of its sequence number.
func ReadPathReport(frame []byte) (r model.PathReport, ok bool) {
	head, packet, ok := SplitFrame(frame)
	if !ok {
		return r, false
	}
	switch binary.BigEndian.Uint16(head[len(head)-typeBytes:]) {
	case typeIPv4:
		return report4(packet)
	case typeIPv6:
		return report6(packet)
	}
	return r, false
}

func report4(packet []byte) (r model.PathReport, ok bool) {
	const fragmentationNeeded = 4
	proto, message, ok := payload4(packet)
	if !ok || proto != unix.IPPROTO_ICMP || len(message) < headerICMP+header4 || checksum(message) != 0 ||
		message[0] != byte(ipv4.ICMPTypeDestinationUnreachable) || message[1] != fragmentationNeeded {
		return r, false
	}
	quoted := message[headerICMP:]
	header := int(quoted[0]&15) * 4
	flags := binary.BigEndian.Uint16(quoted[6:])
	if quoted[0]>>4 != ipv4.Version || header < header4 || len(quoted) < header || flags>>8&dontFragment == 0 || flags&offset4 != 0 {
		return r, false
	}
	r = model.PathReport{Length: uint32(binary.BigEndian.Uint16(quoted[2:])), MTU: uint32(binary.BigEndian.Uint16(message[6:]))}
	return ofESP(r, quoted[9], quoted[12:16], quoted[16:20], quoted[header:], packet[16:20])
}

func report6(packet []byte) (r model.PathReport, ok bool) {
	proto, message, ok := payload6(packet, xfrm.AllExtensionHeaders)
	if !ok || proto != unix.IPPROTO_ICMPV6 || len(message) < headerICMP+header6 || message[0] != byte(ipv6.ICMPTypePacketTooBig) {
		return r, false
	}
	pseudo := icmp.IPv6PseudoHeader(packet[8:24], packet[24:40])
	binary.BigEndian.PutUint32(pseudo[32:], uint32(len(message)))
	quoted := message[headerICMP:]
	if checksum(append(pseudo, message...)) != 0 || quoted[0]>>4 != ipv6.Version {
		return r, false
	}
	r = model.PathReport{Length: header6 + uint32(binary.BigEndian.Uint16(quoted[4:])), MTU: binary.BigEndian.Uint32(message[4:])}
	return ofESP(r, quoted[6], quoted[8:24], quoted[24:40], quoted[header6:], packet[24:40])
}

// ofESP completes a report by addresses, SPI and number of the packet that it is about, which
// `receiver` must have sent.
func ofESP(r model.PathReport, proto uint8, src, dst, payload, receiver []byte) (model.PathReport, bool) {
	const udpHeader, espHeader = 8, 8
	if string(src) != string(receiver) {
		return r, false
	}
	r.Src, _ = netip.AddrFromSlice(src)
	r.Dst, _ = netip.AddrFromSlice(dst)
	if proto == unix.IPPROTO_UDP && len(payload) >= udpHeader {
		r.Encap, r.SPort, r.DPort = true, binary.BigEndian.Uint16(payload), binary.BigEndian.Uint16(payload[2:])
		proto, payload = unix.IPPROTO_ESP, payload[udpHeader:]
	}
	if proto != unix.IPPROTO_ESP || len(payload) < espHeader {
		return r, false
	}
	r.SPI, r.Number = binary.BigEndian.Uint32(payload), binary.BigEndian.Uint32(payload[4:])
	return r, true
}

// SentLately says whether an outbound SA whose last sequence number is `last` can have sent a
// packet with `number` in its ESP header: one of its last 2^31, which take 14 s at the rate of the
// wire. ESP has no number 0 (RFC 4303, 3.3.3), but for the low half of an extended one.
func SentLately(last uint64, number uint32) bool {
	const lately = 1 << 31
	if last < lately {
		return number != 0 && uint64(number) <= last
	}
	return uint32(last)-number < lately
}
