// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// OpenTunnels makes the device of packets out of tunnels and into them, in the network namespace of
// the calling thread. It is a TUN: it has IP packets without Ethernet header, no MAC address and no
// neighbours. It goes with Close.
func (d *Devices) OpenTunnels(device Device) error {
	t, err := open(device, unix.IFF_TUN)
	d.tunnels = t
	return err
}

// take hands Linux a punted frame at the device that says how it came: protected by a tunnel, in
// clear from black, or at a port. What came protected never comes in at a device of clear frames.
func (d *Devices) take(header transport.PuntHeader, frame []byte) error {
	switch header.Reason {
	case regs.PuntReasonTunnel:
		return d.DeliverTunnels(frame)
	case regs.PuntReasonClear:
		return d.hand(d.taps[transport.PortBlack], d.taps[transport.PortBlack].toItself(frame))
	}
	return d.Deliver(header.Port, frame)
}

// DeliverTunnels hands Linux the packet of a frame at the device of the XFRM interface to which its
// source is routed, or else at that of tunnels. Without the device, or without a packet, it is
// refused and counted.
func (d *Devices) DeliverTunnels(frame []byte) error {
	_, packet, ok := SplitFrame(frame)
	to := d.tunnels
	if at := d.interfaces.receiving(packet); at != nil {
		to = at
	}
	if !ok || to == nil {
		d.refused.Add(1)
		return nil
	}
	return d.hand(to, packet)
}

// toItself is a frame as if a station had sent it to the device: the chip that punted it has the
// MAC address of another port.
func (t *tap) toItself(frame []byte) []byte {
	own := t.mac.Load()
	if own == nil || len(frame) < 2*len(*own) {
		return frame
	}
	return append(append([]byte{}, *own...), frame[len(*own):]...)
}

// overhead is the most that ESP in tunnel mode adds to a packet, in bytes: the headers of IPv6, UDP
// and ESP, an IV of 16, padding to 16, its length and the next header, and an ICV of 32.
const overhead = 40 + 8 + 8 + 16 + 15 + 2 + 32

// leastMTU is that of IPv6 (RFC 8200 5).
const leastMTU = 1280

// Tunnels is the device of packets out of tunnels, beside that of the black port. A packet of its
// MTU fits into every suite's ESP packet at that port.
func Tunnels(name string, black Device) Device {
	return Device{Name: name, MTU: max(black.MTU-overhead, leastMTU)}
}

// etherBytes are those of an Ethernet header without tags.
const etherBytes = 14

// withEther puts the type of the IP packet behind an Ethernet header into it. The addresses stay 0:
// the chip takes the header off.
func withEther(frame []byte) []byte {
	kind := uint16(typeIPv4)
	if len(frame) > etherBytes && frame[etherBytes]>>4 == 6 {
		kind = typeIPv6
	}
	binary.BigEndian.PutUint16(frame[etherBytes-typeBytes:], kind)
	return frame
}
