// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// Fault is what the sender of a packet is told about it: type and code of ICMP and of ICMPv6, and
// the second word of the message.
type Fault struct {
	type4        ipv4.ICMPType
	type6        ipv6.ICMPType
	code4, code6 int
	word         uint32
}

// TimeExceeded is told of a packet whose TTL or hop limit is over (RFC 1812, 5.3.1; RFC 4443, 3.3).
var TimeExceeded = Fault{type4: ipv4.ICMPTypeTimeExceeded, type6: ipv6.ICMPTypeTimeExceeded}

// Prohibited is told of a packet that a policy rejects (RFC 1812, 5.2.7.1; RFC 4443, 3.1).
var Prohibited = Fault{type4: ipv4.ICMPTypeDestinationUnreachable, code4: 13, type6: ipv6.ICMPTypeDestinationUnreachable, code6: 1}

// HostUnreachable is told of a packet whose host does not answer (RFC 1812, 5.2.7.1 and 3.3.2; RFC
// 4443, 3.1), and NetUnreachable of one that no route leads on.
var (
	HostUnreachable = Fault{type4: ipv4.ICMPTypeDestinationUnreachable, code4: 1, type6: ipv6.ICMPTypeDestinationUnreachable, code6: 3}
	NetUnreachable  = Fault{type4: ipv4.ICMPTypeDestinationUnreachable, type6: ipv6.ICMPTypeDestinationUnreachable}
)

const (
	// The longest messages, with their own IP header (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c).
	most4, most6   = 576, leastMTU6
	header4        = 20
	header6        = 40
	headerICMP     = 8
	hopLimit       = 64
	dontFragment   = 0x40 // in the byte of the flags
	networkControl = 0xC0 // precedence 6, as RFC 1812, 4.3.2.5, has it
)

// Answer is the frame that tells the sender of a packet of a fault. It goes to the station that
// sent the packet behind the Ethernet header `head`, in the same VLANs. Its source is the IP
// address `from`, of the packet's version.
//
// It is false if the data is not an IP packet, or if the frame went to a group of stations or came
// from one (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e). The caller checks that the packet itself may be
// answered ([Answerable]).
func Answer(head, packet []byte, from netip.Addr, fault Fault) (frame []byte, ok bool) {
	if len(packet) < header4 || head[0]&1 != 0 || head[6]&1 != 0 {
		return nil, false
	}
	frame = append(append(append(frame, head[6:12]...), head[:6]...), head[12:]...)
	switch packet[0] >> 4 {
	case ipv4.Version:
		return append(frame, fault.about4(packet, from)...), true
	case ipv6.Version:
		if len(packet) >= header6 {
			return append(frame, fault.about6(packet, from)...), true
		}
	}
	return nil, false
}

// String is what RFC 1812 calls the message, with its code.
func (f Fault) String() string { return fmt.Sprintf("%s, code %d", f.type4, f.code4) }

// quoted is the start of a packet of `total` bytes, without padding of its frame.
func quoted(packet []byte, total, most int) []byte { return packet[:min(len(packet), total, most)] }

func (f Fault) about4(packet []byte, from netip.Addr) []byte {
	total := int(binary.BigEndian.Uint16(packet[2:]))
	message := f.message(f.type4, f.code4, quoted(packet, total, most4-header4-headerICMP), nil)
	out := []byte{ipv4.Version<<4 | header4/4, networkControl, 0, 0, 0, 0, dontFragment, 0, hopLimit, unix.IPPROTO_ICMP, 0, 0}
	binary.BigEndian.PutUint16(out[2:], uint16(header4+len(message)))
	out = append(append(out, from.AsSlice()...), packet[12:16]...)
	binary.BigEndian.PutUint16(out[10:], checksum(out))
	return append(out, message...)
}

func (f Fault) about6(packet []byte, from netip.Addr) []byte {
	to, total := packet[8:24], header6+int(binary.BigEndian.Uint16(packet[4:]))
	text := quoted(packet, total, most6-header6-headerICMP)
	message := f.message(f.type6, f.code6, text, icmp.IPv6PseudoHeader(from.AsSlice(), to))
	out := []byte{ipv6.Version << 4, 0, 0, 0, 0, 0, unix.IPPROTO_ICMPV6, hopLimit}
	binary.BigEndian.PutUint16(out[4:], uint16(len(message)))
	return append(append(append(out, from.AsSlice()...), to...), message...)
}

// message has a checksum, over IPv6 of the pseudo header as well.
func (f Fault) message(kind icmp.Type, code int, quoted, pseudoHeader []byte) []byte {
	body := &icmp.RawBody{Data: append(binary.BigEndian.AppendUint32(nil, f.word), quoted...)}
	text, err := (&icmp.Message{Type: kind, Code: code, Body: body}).Marshal(pseudoHeader)
	if err != nil {
		panic(err) // a body of bytes always fits
	}
	return text
}
