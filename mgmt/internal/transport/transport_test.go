// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "box0.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener, path
}

// answers lets a server of its own speak with the one client of a socket, whose path it gives.
func answers(t *testing.T, speak func(net.Conn)) string {
	t.Helper()
	listener, path := listen(t)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		speak(conn)
	}()
	return path
}

// TestWire holds the bytes of a request against docs/reference/simulator-sockets.md.
func TestWire(t *testing.T) {
	received := make(chan []byte, 1)
	path := answers(t, func(conn net.Conn) {
		request := make([]byte, 36)
		io.ReadFull(conn, request)
		conn.Write([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0xF0, 0, 0, 0})
		received <- request
	})
	s, err := transport.DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ops := []transport.Op{transport.Write(transport.Outer, 0x204, 0xA1B2C3D4), transport.Read(transport.Crypto, 0x10), transport.ReadUntil(transport.Inner, 0x94, 0x0102)}
	if err := s.Do(ops); err != nil {
		t.Fatal(err)
	}
	want := []byte{2, 2, 2, 0, 4, 2, 0, 0, 0xD4, 0xC3, 0xB2, 0xA1, 1, 1, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0x94, 0, 0, 0, 2, 1, 0, 0}
	if got := <-received; !bytes.Equal(got, want) {
		t.Errorf("sent %x, want %x", got, want)
	}
	if ops[1].Data != 0x12345678 || ops[2].Data != 0xF0 {
		t.Errorf("read %#x and %#x", ops[1].Data, ops[2].Data)
	}
}

// TestWait: a simulator lets its own time pass; cards share this program's.
func TestWait(t *testing.T) {
	received := make(chan []byte, 1)
	path := answers(t, func(conn net.Conn) {
		request := make([]byte, 12)
		for _, status := range []byte{0, 0xFF} {
			io.ReadFull(conn, request)
			received <- bytes.Clone(request)
			conn.Write([]byte{status, status, status, status, 0, 0, 0, 0})
		}
	})
	s, err := transport.DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Wait(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got, want := <-received, []byte{3, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x42, 0x0F, 0}; !bytes.Equal(got, want) {
		t.Errorf("sent %x, want %x", got, want)
	}
	if err := s.Wait(time.Microsecond); err == nil || !strings.Contains(err.Error(), "refused to wait") {
		t.Errorf("refused: %v", err)
	}
	if err := s.Wait(time.Microsecond); err == nil {
		t.Error("waited without a simulator")
	}
	begin := time.Now()
	if err := new(transport.PCI).Wait(time.Millisecond); err != nil || time.Since(begin) < time.Millisecond {
		t.Errorf("cards: %v after %v", err, time.Since(begin))
	}
}

// TestLongBatch sends far more requests than the socket's buffers hold to a server that answers
// each before it reads the next.
func TestLongBatch(t *testing.T) {
	listener, path := listen(t)
	fake := fakebox.New(fakebox.Small)
	go fake.Serve(listener)
	s, err := transport.DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const count = 100_000
	ops := make([]transport.Op, 0, 2*count)
	for i := range uint32(count) {
		ops = append(ops, transport.Write(transport.Inner, regs.CommonScratch.Offset, i), transport.Read(transport.Inner, regs.CommonScratch.Offset))
	}
	if err := s.Do(ops); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(count) {
		if ops[2*i+1].Data != i {
			t.Fatalf("read %d gave %d", i, ops[2*i+1].Data)
		}
	}
}

// TestTurns: a long batch lets another caller's access in after at most MostTogether of its own.
// The batch counts in a register, which the other caller reads.
func TestTurns(t *testing.T) {
	listener, path := listen(t)
	go fakebox.New(fakebox.Small).Serve(listener)
	s, err := transport.DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ops := make([]transport.Op, 200_000)
	for i := range ops {
		ops[i] = transport.Write(transport.Inner, regs.CommonScratch.Offset, uint32(i))
	}
	done := make(chan error, 1)
	go func() { done <- s.Do(ops) }()
	// This caller may lose its processor between two reads, but not each time.
	for before := uint32(0); ; {
		now, err := transport.Read32(s, transport.Inner, regs.CommonScratch.Offset)
		if err != nil {
			t.Fatal(err)
		}
		if 0 < before && before < now && now-before <= 2*transport.MostTogether {
			break
		}
		if before = now; int(now) == len(ops)-1 {
			t.Fatal("no access of another caller came in between")
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestErrors: a refused access is named, and the connection stays in step.
func TestErrors(t *testing.T) {
	listener, path := listen(t)
	go fakebox.New(fakebox.Small).Serve(listener)
	s, err := transport.DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Do([]transport.Op{transport.Read(transport.Inner, 0xFFC), transport.Read(transport.Inner, 0)})
	if err == nil || !strings.Contains(err.Error(), "read of inner register 0xffc: AXI response 2") {
		t.Errorf("no such register: %v", err)
	}
	if magic, err := transport.Read32(s, transport.Outer, 0); err != nil || magic != 0x534C5950 {
		t.Errorf("after an error: %#x, %v", magic, err)
	}
	if err := transport.Write32(s, transport.Chip(7), 0, 0); err == nil || !strings.Contains(err.Error(), "refused the request") {
		t.Errorf("no such chip: %v", err)
	}
	if err := transport.Write32(s, transport.Inner, 2, 0); err == nil || !strings.Contains(err.Error(), "multiple of 4") {
		t.Errorf("unaligned: %v", err)
	}
	listener.Close()
	if _, err := transport.DialSocket(t.Context(), path+".none"); err == nil || !strings.Contains(err.Error(), ".none") {
		t.Errorf("no socket: %v", err)
	}
}

func TestClosedConnection(t *testing.T) {
	listener, path := listen(t)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			io.ReadFull(conn, make([]byte, 12))
			conn.Close()
		}
	}()
	s, err := transport.DialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.Read32(s, transport.Inner, 0); err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("gave %v", err)
	}
}

// TestSilence: a simulator that does not answer ends an access after a bound, with one sentence,
// and no caller waits behind it.
func TestSilence(t *testing.T) {
	for name, access := range map[string]func(*transport.Socket) error{
		"read of inner register 0x000": func(s *transport.Socket) error { _, err := transport.Read32(s, transport.Inner, 0); return err },
		"waiting":                      func(s *transport.Socket) error { return s.Wait(time.Microsecond) },
	} {
		_, path := listen(t)
		s, err := transport.DialSocket(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		s.Patience = 20 * time.Millisecond
		want := path + ": " + name + ": the simulator has not answered for 20ms: end its run, or start it again"
		if err := access(s); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		s.Patience = time.Hour
		if err := access(s); err == nil {
			t.Error("a connection that is out of step is used again")
		}
	}
}

// TestSilenceAtTheEnd: the end of the program shortens how long an access may take, that of one
// under way and that of one which comes later. A simulator that answers is asked on.
func TestSilenceAtTheEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	listener, path := listen(t)
	s, err := transport.DialSocket(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error)
	go func() { _, err := transport.Read32(s, transport.Inner, 0); asked <- err }()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil { // the access is under way
		t.Fatal(err)
	}
	end()
	want := path + ": read of inner register 0x000: the simulator has not answered within 2s of this program's end"
	if err := <-asked; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	begin := time.Now()
	if _, err := transport.Read32(s, transport.Inner, 0); err == nil || time.Since(begin) > time.Second {
		t.Errorf("the next access: %v", err)
	}
	late, path := listen(t)
	fake := fakebox.New(fakebox.Small)
	go fake.Serve(late)
	living, ends := context.WithCancel(t.Context())
	s, err = transport.DialSocket(living, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ends()
	if _, err := transport.Read32(s, transport.Inner, 0); err != nil {
		t.Errorf("a simulator that answers: %v", err)
	}
}
