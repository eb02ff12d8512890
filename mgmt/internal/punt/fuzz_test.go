// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"sallyport/mgmt/internal/xfrm"
)

// FuzzFrame: of any frame the addresses are those that golang.org/x/net reads, and what answers it
// has a bounded length.
func FuzzFrame(f *testing.F) {
	head := []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x81\x00\x00\x07\x08\x00")
	four := append(append([]byte{}, head...), "\x45\x00\x00\x20\x00\x00\x40\x00\x40\x11\x00\x00\x0a\x01\x00\x01\x0a\x02\x00\x01\x00\x05\x00\x07\x00\x0c\x00\x00abcd"...)
	six := append([]byte{}, head[:12]...)
	six = append(six, "\x86\xdd\x60\x00\x00\x00\x00\x0c\x00\x40"...)
	six = append(append(six, make([]byte, 32)...), "\x3a\x00\x01\x04\x00\x00\x00\x00\x80\x00\x00\x00"...)
	f.Add(four, uint32(68))
	f.Add(six, uint32(1280))
	f.Add(head[:13], uint32(0))
	f.Fuzz(func(t *testing.T, frame []byte, mtu uint32) {
		front, packet, ok := SplitFrame(frame)
		if !ok {
			return
		}
		if !bytes.Equal(append(bytes.Clone(front), packet...), frame) {
			t.Fatal("a frame is parted into something else")
		}
		if s, ok := ReadPacket(frame, xfrm.AllExtensionHeaders); ok {
			var src, dst net.IP
			if binary.BigEndian.Uint16(front[len(front)-2:]) == typeIPv4 {
				if h, err := ipv4.ParseHeader(packet); err == nil {
					src, dst = h.Src.To4(), h.Dst.To4()
				}
			} else if h, err := ipv6.ParseHeader(packet); err == nil {
				src, dst = h.Src, h.Dst
			}
			if src != nil && (!src.Equal(s.Src.Addr().AsSlice()) || !dst.Equal(s.Dst.Addr().AsSlice())) {
				t.Errorf("%s, but golang.org/x/net has %s to %s", s, src, dst)
			}
		}
		if r, ok := ReadPathReport(frame); ok && r.Src.Is6() != r.Dst.Is6() {
			t.Errorf("%+v", r)
		}
		for _, from := range []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")} {
			if len(packet) == 0 || packet[0]>>4 == 6 != from.Is6() {
				continue
			}
			big, _ := TooBig(front, packet, from, mtu)
			expired, _ := Answer(front, packet, from, TimeExceeded)
			if to, length, ok := Destination(frame); ok && (to.Is6() != from.Is6() || length > len(packet)) {
				t.Errorf("a packet of %d bytes to %s", length, to)
			}
			if onward, ok := Forward(frame, [6]byte{2}, nil); ok && len(onward) > len(frame) {
				t.Errorf("a frame of %d bytes leaves with %d", len(frame), len(onward))
			}
			if len(big) > len(front)+most6 || len(expired) > len(front)+most6 {
				t.Errorf("answers of %d and %d bytes", len(big), len(expired))
			}
		}
	})
}
