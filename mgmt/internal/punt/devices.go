// SPDX-License-Identifier: Apache-2.0

// Package punt makes Linux the host behind the ports of a box. Frames that a chip punts come in at
// a TAP device, and the box injects the frames that Linux sends there. Packets out of tunnels come
// in at devices of their own, and those that Linux sends there go by the policies. So the kernel
// does ARP, neighbour discovery and ICMP, and IKE reaches the program that listens.
package punt

import (
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/transport"
)

// longest is more than a frame of any MTU that a TAP can have.
const longest = 70_000

// Devices are the TAPs of a box's red and black port, in this order, and the device of packets out
// of tunnels and into them, if there is one, and those of XFRM interfaces.
type Devices struct {
	taps       [2]*tap
	tunnels    *tap
	interfaces interfaces
	refused    atomic.Uint64
	// members are the VLANs of VRFs, as TableRoutes found them last.
	members atomic.Pointer[members]
}

// Open makes both devices, in the network namespace of the calling thread, or none. They go
// with Close.
func Open(red, black Device) (*Devices, error) {
	d := &Devices{}
	for port, device := range []Device{red, black} {
		t, err := open(device, unix.IFF_TAP)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.taps[port] = t
	}
	return d, nil
}

// Deliver hands Linux a frame that came in at a port. One for a device that is down is refused
// and counted.
func (d *Devices) Deliver(port uint8, frame []byte) error { return d.hand(d.taps[port], frame) }

func (d *Devices) hand(to *tap, frame []byte) error {
	taken, err := to.write(frame)
	if err == nil && !taken {
		d.refused.Add(1)
	}
	return err
}

// Address gives the device of a port another Ethernet address. It needs no rights.
func (d *Devices) Address(port uint8, mac net.HardwareAddr) error { return d.taps[port].address(mac) }

// Refuse counts a frame that is not for Linux.
func (d *Devices) Refuse() { d.refused.Add(1) }

// Refused is how many frames Linux did not take, or sent by a device that they are not routed to.
func (d *Devices) Refused() uint64 { return d.refused.Load() }

// Serve calls `send` with every frame that Linux sends, until `send` or a device fails or Close is
// called. A packet for tunnels goes by the policies, behind an Ethernet header. Serve reads a
// device's next frame after `send` returns. `send` may be called for all devices at once and must
// not keep the frame.
func (d *Devices) Serve(send func(port uint8, frame []byte) error) error {
	var group errgroup.Group
	for port, t := range d.taps {
		group.Go(func() error { return t.serve(0, func(frame []byte) error { return send(uint8(port), frame) }) })
	}
	if d.tunnels != nil {
		group.Go(func() error {
			return d.tunnels.serve(etherBytes, func(frame []byte) error { return send(transport.ByPolicy, withEther(frame)) })
		})
	}
	for _, t := range d.interfaces.taps {
		group.Go(func() error {
			return t.serve(etherBytes, func(frame []byte) error {
				if !d.interfaces.sends(t, frame[etherBytes:]) {
					d.refused.Add(1)
					return nil
				}
				return send(transport.ByPolicy, withEther(frame))
			})
		})
	}
	return group.Wait()
}

// serve calls `send` with each frame that Linux sends by a device, behind so many bytes that are 0.
func (t *tap) serve(before int, send func(frame []byte) error) error {
	buffer := make([]byte, before+longest)
	for {
		clear(buffer[:before])
		size, err := t.read(buffer[before:])
		if err != nil {
			return err
		}
		// Longer ones are no port's: the device's MTU was raised.
		if before+size > transport.MaxFrame {
			continue
		}
		if err := send(buffer[:before+size]); err != nil {
			return err
		}
	}
}

// Close ends the devices, and a Serve that waits.
func (d *Devices) Close() error {
	var errs []error
	for _, t := range slices.Concat(d.taps[:], []*tap{d.tunnels}, d.interfaces.taps) {
		if t != nil {
			errs = append(errs, t.file.Close())
		}
	}
	return errors.Join(errs...)
}
