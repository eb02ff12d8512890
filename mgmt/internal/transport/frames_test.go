// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// engine plays the simulator's end of the frames of a box and gives the client's.
func engine(t *testing.T, speak func(net.Conn)) *transport.Frames {
	t.Helper()
	path := transport.FramesPath(filepath.Join(t.TempDir(), "box0.sock"))
	listener, err := net.Listen("unixpacket", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		speak(conn)
	}()
	frames, err := transport.DialFrames(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { frames.Close() })
	return frames
}

// ike is a punted frame of 60 bytes, its header byte for byte as docs/reference/chip-ports.md
// has it.
var ike = append([]byte{1, 5, 1, 0, 0, 60, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, bytes.Repeat([]byte{0xA5}, 60)...)

// TestFrames: both directions, a message a frame.
func TestFrames(t *testing.T) {
	received := make(chan []byte, 3)
	frames := engine(t, func(conn net.Conn) {
		conn.Write(ike)
		message := make([]byte, 20000)
		for range 3 {
			size, _ := conn.Read(message)
			received <- bytes.Clone(message[:size])
		}
	})
	header, frame, err := frames.Receive()
	want := transport.PuntHeader{Port: transport.PortBlack, Reason: regs.PuntReasonIke, Group: regs.PuntGroupIke, Cycles: 0x0102030405060708}
	if err != nil || header != want || !bytes.Equal(frame, ike[16:]) {
		t.Errorf("received %+v %x, %v", header, frame, err)
	}
	long := bytes.Repeat([]byte{7}, transport.MaxFrame)
	for port, frame := range [][]byte{{1, 2, 3}, long, {4, 5}} {
		if err := frames.Send(uint8(port), frame); err != nil {
			t.Fatal(err)
		}
		if got := <-received; got[0] != uint8(port) || !bytes.Equal(got[1:], frame) {
			t.Errorf("port %d: sent %d bytes that begin with %x", port, len(got), got[:4])
		}
	}
	if _, _, err := frames.Receive(); err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("without an engine: %v", err)
	}
}

// TestFramesThatAreWrong: nothing that is no frame is sent or believed.
func TestFramesThatAreWrong(t *testing.T) {
	lies := bytes.Clone(ike)
	lies[5] = 61
	frames := engine(t, func(conn net.Conn) {
		conn.Write(lies)
		conn.Write(ike[:16])
		conn.Read(make([]byte, 1))
	})
	for _, want := range []string{"of 60 bytes says 61", "of 16 bytes has no header"} {
		if _, _, err := frames.Receive(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("received %v, want %q", err, want)
		}
	}
	for port, frame := range map[uint8][]byte{0: {}, 1: make([]byte, transport.MaxFrame+1), 3: {1}} {
		if err := frames.Send(port, frame); err == nil || !strings.Contains(err.Error(), "cannot inject") {
			t.Errorf("port %d, %d bytes: %v", port, len(frame), err)
		}
	}
	if _, err := transport.DialFrames(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no socket: %v", err)
	}
}

// TestFramesClosed: Close ends a Receive that waits.
func TestFramesClosed(t *testing.T) {
	frames := engine(t, func(conn net.Conn) { conn.Read(make([]byte, 1)) })
	failed := make(chan error)
	go func() {
		_, _, err := frames.Receive()
		failed <- err
	}()
	frames.Close()
	if err := <-failed; err == nil {
		t.Error("received from a closed connection")
	}
}
