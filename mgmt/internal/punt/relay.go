// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Of reads the required properties of the ports' devices from a box. These are MAC addresses, none
// before the box is configured, and MTUs.
func Of(b *chip.Box, redName, blackName string) (red, black Device, err error) {
	values, err := b.ReadAll(
		chip.Source{Chip: transport.Inner, Register: regs.InnerPortMacLo}, chip.Source{Chip: transport.Inner, Register: regs.InnerPortMacHi},
		chip.Source{Chip: transport.Outer, Register: regs.OuterPortMacLo}, chip.Source{Chip: transport.Outer, Register: regs.OuterPortMacHi},
		chip.Source{Chip: transport.Inner, Register: regs.InnerPortMtu}, chip.Source{Chip: transport.Outer, Register: regs.OuterPortMtu})
	if err != nil {
		return
	}
	red = Device{redName, portMAC(values[0], values[1]), int(values[4])}
	black = Device{blackName, portMAC(values[2], values[3]), int(values[5])}
	return
}

// portMAC: byte 0 on the wire is the lowest of the registers.
func portMAC(low, high uint32) net.HardwareAddr {
	if low == 0 && high == 0 {
		return nil
	}
	mac := binary.LittleEndian.AppendUint32(nil, low)
	return binary.LittleEndian.AppendUint16(mac, uint16(high))
}

// Frames is the management CPU's end of a box's punt and inject streams: transport.Frames of a
// simulated box, transport.Mailbox of cards. Receive waits for the next punted frame, and Send
// takes one to inject. Several calls may run at once; Close ends those that wait.
type Frames interface {
	Receive() (transport.PuntHeader, []byte, error)
	Send(port uint8, frame []byte) error
	Close() error
}

// Relay carries frames between a box and its devices until the context ends, which is no error, or
// one of them fails. It closes both. Frames for which `keep` is true do not go to Linux; they
// belong to keep.
func Relay(ctx context.Context, frames Frames, devices *Devices, keep func(header transport.PuntHeader, frame []byte) bool) error {
	group, ended := errgroup.WithContext(ctx)
	group.Go(func() error {
		for {
			header, frame, err := frames.Receive()
			if err != nil {
				return err
			}
			if keep(header, frame) {
				continue
			}
			if err := devices.take(header, frame); err != nil {
				return err
			}
		}
	})
	group.Go(func() error { return devices.Serve(frames.Send) })
	group.Go(func() error {
		<-ended.Done()
		return errors.Join(frames.Close(), devices.Close())
	})
	err := group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("frames of the management CPU: %w", err)
	}
	return nil
}
