// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"sallyport/mgmt/internal/regs"
)

// Ports of punted and injected frames, which are also the numbers of their chips. A frame that is
// injected into ByPolicy goes by the inner chip's policies, as if it had come from red.
const (
	PortRed   = 0
	PortBlack = 1
	ByPolicy  = 2
)

// mayInject refuses a port that is none, and a frame that is too short or too long.
func mayInject(port uint8, frame []byte, least int) error {
	if port > ByPolicy || len(frame) < least || len(frame) > MaxFrame {
		return fmt.Errorf("cannot inject %d bytes into port %d: a frame has %d to %d, and the ports are 0 to 2", len(frame), port, least, MaxFrame)
	}
	return nil
}

// punt_header of regs/sallyport.rdl stands in front of each punted frame.
var punted = regs.PuntHeader

// MaxFrame is the longest Ethernet frame that a chip takes or punts, without its FCS.
const MaxFrame = 9596

// PuntHeader has the port where a punted frame came in, the reason (regs.PuntReason…), the group
// whose limit it passed (regs.PuntGroup…), and the core cycle of its chip at which it came.
// Injected says that it was injected ByPolicy and comes back, Hairpin that it came out of a tunnel
// for another one. Network is that of the inner chip's packets.
type PuntHeader struct {
	Port          uint8
	Reason, Group uint32
	Injected      bool
	Hairpin       bool
	Network       int
	Cycles        uint64
}

// Frames is the management CPU's end of a simulated box's punt and inject streams
// (docs/reference/simulator-sockets.md). Receive may run beside Send; Close ends both.
type Frames struct {
	conn    net.Conn
	path    string
	message []byte
}

// FramesPath is where the simulator has the frames of the box whose registers it has at this path.
func FramesPath(registers string) string { return strings.TrimSuffix(registers, ".sock") + ".frames" }

// DialFrames connects to the simulator's socket of frames of one box. If another program has it,
// the first Receive says so.
func DialFrames(path string) (*Frames, error) {
	conn, err := net.Dial("unixpacket", path)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the simulator's frames at %s: %w", path, err)
	}
	return &Frames{conn: conn, path: path, message: make([]byte, punted.Bits/8+MaxFrame+1)}, nil
}

// Receive waits for the next punted frame, which is the caller's.
func (f *Frames) Receive() (PuntHeader, []byte, error) {
	size, err := f.conn.Read(f.message)
	if errors.Is(err, io.EOF) {
		return PuntHeader{}, nil, fmt.Errorf("%s: the simulator closed the connection: it has ended, or another program has the box's frames", f.path)
	}
	if err != nil {
		return PuntHeader{}, nil, fmt.Errorf("%s: receiving a punted frame: %w", f.path, err)
	}
	header, frame, err := splitPunted(f.message[:size])
	if err != nil {
		return PuntHeader{}, nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return header, append([]byte(nil), frame...), nil
}

// Send injects an Ethernet frame, without FCS, that leaves by a port or by policies. While the chip
// has no room it waits.
func (f *Frames) Send(port uint8, frame []byte) error {
	if err := mayInject(port, frame, 1); err != nil {
		return err
	}
	if _, err := f.conn.Write(append([]byte{port}, frame...)); err != nil {
		return fmt.Errorf("%s: injecting a frame: %w", f.path, err)
	}
	return nil
}

// Inject sends one frame for a program that has no other use for the frames of the box whose
// registers are at a path.
func Inject(registers string, port uint8, frame []byte) error {
	frames, err := DialFrames(FramesPath(registers))
	if err != nil {
		return err
	}
	return errors.Join(frames.Send(port, frame), frames.Close())
}

// Close ends the connection.
func (f *Frames) Close() error { return f.conn.Close() }

// splitPunted reads the header and checks it against the frame behind it.
func splitPunted(message []byte) (PuntHeader, []byte, error) {
	bytes := punted.Bits / 8
	if len(message) <= bytes {
		return PuntHeader{}, nil, fmt.Errorf("a punted frame of %d bytes has no header", len(message))
	}
	row := headerRow(message)
	frame := message[bytes:]
	if length := punted.Length.Get(row); length != uint64(len(frame)) {
		return PuntHeader{}, nil, fmt.Errorf("the header of a punted frame of %d bytes says %d", len(frame), length)
	}
	return PuntHeader{
		Port:     uint8(punted.Port.Get(row)),
		Reason:   uint32(punted.Reason.Get(row)),
		Group:    uint32(punted.Group.Get(row)),
		Injected: punted.Injected.Get(row) != 0,
		Hairpin:  punted.Hairpin.Get(row) != 0,
		Network:  int(punted.Network.Get(row)),
		Cycles:   punted.Cycles.Get(row),
	}, frame, nil
}

// headerRow is the header in front of a message: one number, highest byte first.
func headerRow(message []byte) []uint32 {
	row := make([]uint32, punted.Bits/32)
	for i := range row {
		row[i] = binary.BigEndian.Uint32(message[punted.Bits/8-4*(i+1):])
	}
	return row
}
