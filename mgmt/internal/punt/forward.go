// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// Destination is that of the IP packet in a frame, and the packet's length in bytes. False without
// a whole packet.
func Destination(frame []byte) (to netip.Addr, length int, ok bool) {
	packet, ok := wholePacket(frame)
	if ok {
		_, to, ok = addressesOf(packet)
	}
	return to, len(packet), ok
}

// Deliver is the frame that brings the packet in a frame to a station, as it is, behind VLAN tags.
// It comes from the station that the given frame is for. False without a whole packet.
func Deliver(frame []byte, to [6]byte, tags []byte) (out []byte, ok bool) {
	packet, ok := wholePacket(frame)
	if !ok {
		return nil, false
	}
	head, _, _ := SplitFrame(frame)
	return slices.Concat(to[:], head[:6], tags, head[len(head)-typeBytes:], packet), true
}

// Forward does so with a TTL or hop limit one less (RFC 1812, 5.3.1). False as well if that is
// over.
func Forward(frame []byte, to [6]byte, tags []byte) (out []byte, ok bool) {
	if out, ok = Deliver(frame, to, tags); !ok {
		return nil, false
	}
	head, packet, _ := SplitFrame(out)
	at := len(head)
	ttl := &out[at+7]
	if packet[0]>>4 == ipv4.Version {
		ttl = &out[at+8]
	}
	if *ttl <= 1 {
		return nil, false
	}
	*ttl--
	if packet[0]>>4 == ipv4.Version {
		header := out[at : at+int(packet[0]&15)*4]
		header[10], header[11] = 0, 0
		binary.BigEndian.PutUint16(header[10:], checksum(header))
	}
	return out, true
}

// wholePacket is the IP packet in a frame, without padding.
func wholePacket(frame []byte) (packet []byte, ok bool) {
	_, packet, ok = SplitFrame(frame)
	switch {
	case !ok || len(packet) < header4:
		return nil, false
	case packet[0]>>4 == ipv4.Version:
		header, total := int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
		if header < header4 || total < header || total > len(packet) {
			return nil, false
		}
		return packet[:total], true
	case packet[0]>>4 == ipv6.Version && len(packet) >= header6:
		total := header6 + int(binary.BigEndian.Uint16(packet[4:]))
		if total > len(packet) {
			return nil, false
		}
		return packet[:total], true
	}
	return nil, false
}
