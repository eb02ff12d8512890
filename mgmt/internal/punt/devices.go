// SPDX-License-Identifier: Apache-2.0

// Package punt makes Linux the host behind the ports of a box. Frames that a chip punts come in at
// a TAP device, and the box injects the frames that Linux sends there. So the kernel does ARP,
// neighbour discovery and ICMP, and IKE reaches the program that listens.
package punt

import (
	"errors"
	"net"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/transport"
)

// longest is more than a frame of any MTU that a TAP can have.
const longest = 70_000

// Devices are the TAPs of a box's red and black port, in this order.
type Devices struct {
	taps    [2]*tap
	refused atomic.Uint64
}

// Open makes both devices, in the network namespace of the calling thread, or none. They go
// with Close.
func Open(red, black Device) (*Devices, error) {
	d := &Devices{}
	for port, device := range []Device{red, black} {
		t, err := openTAP(device)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.taps[port] = t
	}
	return d, nil
}

// Deliver hands Linux a frame that came in at a port. One for a device that is down is refused
// and counted.
func (d *Devices) Deliver(port uint8, frame []byte) error {
	taken, err := d.taps[port].write(frame)
	if err == nil && !taken {
		d.refused.Add(1)
	}
	return err
}

// Address gives the device of a port another Ethernet address. It needs no rights.
func (d *Devices) Address(port uint8, mac net.HardwareAddr) error { return d.taps[port].address(mac) }

// Refused is how many frames Linux did not take.
func (d *Devices) Refused() uint64 { return d.refused.Load() }

// Serve calls `send` with every frame that Linux sends, until `send` or a device fails or Close is
// called. It reads a device's next frame after `send` returns. `send` may be called for both ports
// at once and must not keep the frame.
func (d *Devices) Serve(send func(port uint8, frame []byte) error) error {
	var group errgroup.Group
	for port, t := range d.taps {
		group.Go(func() error {
			buffer := make([]byte, longest)
			for {
				size, err := t.read(buffer)
				if err != nil {
					return err
				}
				// Longer ones are no port's: the device's MTU was raised.
				if size > transport.MaxFrame {
					continue
				}
				if err := send(uint8(port), buffer[:size]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// Close ends the devices, and a Serve that waits.
func (d *Devices) Close() error {
	var errs []error
	for _, t := range d.taps {
		if t != nil {
			errs = append(errs, t.file.Close())
		}
	}
	return errors.Join(errs...)
}
