// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Strays tells of ESP packets to the box that no SA is for (RFC 4303, 3.4.2): StraysAtOnce of them,
// and then one a second. So a stranger's flood fills no log.
type Strays struct {
	clock clock.Clock // of the outer chip
	limit *rate.Limiter
	left  int // how many were not told since the last one
}

// StraysAtOnce are told after a rest.
const StraysAtOnce = 16

// NewStrays has told nothing yet of what the outer chip punts, whose core clock is given.
func NewStrays(core clock.Clock) *Strays {
	return &Strays{clock: core, limit: rate.NewLimiter(1, StraysAtOnce)}
}

// Event is that of a punted frame, unless it waits for its turn or has no ESP packet. `now` is this
// machine's clock.
func (s *Strays) Event(header transport.PuntHeader, frame []byte, now time.Time) (e events.Event, ok bool) {
	stray, ok := readStray(frame)
	if !ok {
		return e, false
	}
	if s.left++; !s.limit.AllowN(now, 1) {
		return e, false
	}
	stray.Count, s.left = s.left, 0
	return stray.Event(s.clock.Text(header.Cycles), now), true
}

// readStray reads an ESP packet, in UDP or not.
func readStray(frame []byte) (s events.Stray, ok bool) {
	const udpHeader, espHeader, flowLabel = 8, 8, 0xFFFFF
	head, packet, ok := SplitFrame(frame)
	if !ok {
		return s, false
	}
	var src, dst, payload []byte
	var proto uint8
	switch binary.BigEndian.Uint16(head[len(head)-typeBytes:]) {
	case typeIPv4:
		if proto, payload, ok = payload4(packet); ok {
			src, dst = packet[12:16], packet[16:20]
		}
	case typeIPv6:
		if proto, payload, ok = payload6(packet, xfrm.AllExtensionHeaders); ok {
			src, dst, s.FlowLabel = packet[8:24], packet[24:40], binary.BigEndian.Uint32(packet)&flowLabel
		}
	default:
		return s, false
	}
	if proto == unix.IPPROTO_UDP && len(payload) >= udpHeader {
		proto, payload = unix.IPPROTO_ESP, payload[udpHeader:]
	}
	if !ok || proto != unix.IPPROTO_ESP || len(payload) < espHeader {
		return s, false
	}
	s.Src, _ = netip.AddrFromSlice(src)
	s.Dst, _ = netip.AddrFromSlice(dst)
	s.SPI, s.Seq = binary.BigEndian.Uint32(payload), binary.BigEndian.Uint32(payload[4:])
	return s, true
}
