// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// cards is a fake box with shells, whose mailboxes a program has taken. The log is its output until
// the last call.
type cards struct {
	*transport.Mailbox
	t     *testing.T
	fake  *fakebox.Box
	boxes [2]*fakebox.Mailbox // of red and black
	log   bytes.Buffer
}

// newCards lets `before` find the mailboxes as another program left them.
func newCards(t *testing.T, before func(*cards)) *cards {
	t.Helper()
	c := &cards{t: t, fake: fakebox.New(fakebox.Small)}
	shells := c.fake.AddShells()
	c.boxes = [2]*fakebox.Mailbox{shells[transport.Inner].Mailbox, shells[transport.Outer].Mailbox}
	if before != nil {
		before(c)
	}
	mailbox, err := transport.OpenMailbox(c.fake, slog.New(slog.NewTextHandler(&c.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.Mailbox = mailbox
	return c
}

// message is a frame of so many bytes behind its punt header, byte for byte as
// docs/reference/chip-ports.md has that.
func message(port uint8, length int) []byte {
	out := []byte{port, regs.PuntReasonArp, regs.PuntGroupArp, 0}
	out = binary.BigEndian.AppendUint16(out, uint16(length))
	out = append(out, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	return append(out, content(length)...)
}

func content(length int) []byte {
	out := make([]byte, length)
	for i := range out {
		out[i] = byte(i*7 + length)
	}
	return out
}

// receives expects the frame of a message.
func (c *cards) receives(port uint8, length int) {
	c.t.Helper()
	header, frame, err := c.Receive()
	want := transport.PuntHeader{Port: port, Reason: regs.PuntReasonArp, Group: regs.PuntGroupArp, Cycles: 0x0102030405060708}
	if err != nil || header != want || !bytes.Equal(frame, content(length)) {
		c.t.Fatalf("%d bytes at port %d: %+v, %d bytes, %v", length, port, header, len(frame), err)
	}
}

// lengths are frames that end at each byte of a beat, and the longest.
func lengths(from int) (all []int) {
	for length := from; length < from+150; length++ {
		all = append(all, length)
	}
	return append(all, transport.MaxFrame-1, transport.MaxFrame)
}

// TestMailboxReceives: frames of every length come whole and in order, of both ports in turn.
func TestMailboxReceives(t *testing.T) {
	c := newCards(t, nil)
	for _, length := range lengths(1) {
		c.boxes[0].Punt(message(transport.PortRed, length))
		c.boxes[1].Punt(message(transport.PortBlack, length))
	}
	for _, length := range lengths(1) {
		c.receives(transport.PortRed, length)
		c.receives(transport.PortBlack, length)
	}
	if c.log.Len() > 0 {
		t.Error(c.log.String())
	}
}

// TestMailboxWaits: for a frame, and for the rest of one.
func TestMailboxWaits(t *testing.T) {
	c := newCards(t, nil)
	whole := message(transport.PortBlack, 200)
	// One after the other: timers of their own may fire in any order on a busy machine.
	go func() {
		for part := 0; part < len(whole); part += 64 {
			time.Sleep(10 * time.Millisecond)
			end := min(part+64, len(whole))
			c.fake.Behind(func() { c.boxes[1].PuntPart(whole[part:end], end == len(whole)) })
		}
	}()
	c.receives(transport.PortBlack, 200)
}

// TestMailboxLoses: what breaks the rules is dropped and told, and the frame behind it comes.
func TestMailboxLoses(t *testing.T) {
	lies := func(length int) []byte {
		out := message(transport.PortRed, 100)
		binary.BigEndian.PutUint16(out[4:], uint16(length))
		return out
	}
	for want, wrong := range map[string]func(*fakebox.Mailbox){
		"of 100 bytes says 101":        func(m *fakebox.Mailbox) { m.Punt(lies(101)) },
		"than its header says":         func(m *fakebox.Mailbox) { m.Punt(lies(99)) },
		"header of a punted frame":     func(m *fakebox.Mailbox) { m.Punt(lies(16383)) },
		"its header is of port 1":      func(m *fakebox.Mailbox) { m.Punt(message(transport.PortBlack, 60)) },
		"of 16 bytes has no header":    func(m *fakebox.Mailbox) { m.Punt(message(transport.PortRed, 0)) },
		"of 3 bytes has no header":     func(m *fakebox.Mailbox) { m.Punt([]byte{1, 2, 3}) },
		"its first beat has 15 bytes":  func(m *fakebox.Mailbox) { m.PuntPart(make([]byte, 15), false); m.Punt(make([]byte, 64)) },
		"longer than a frame":          func(m *fakebox.Mailbox) { m.Punt(message(transport.PortRed, transport.MaxFrame+1)) },
		"the rest of it does not come": func(m *fakebox.Mailbox) { m.PuntPart(message(transport.PortRed, 48), false) },
	} {
		c := newCards(t, nil)
		wrong(c.boxes[0])
		if strings.Contains(want, "rest") { // it comes when it is no longer waited for
			time.AfterFunc(150*time.Millisecond, func() {
				c.fake.Behind(func() { c.boxes[0].Punt(make([]byte, 300)); c.boxes[0].Punt(message(transport.PortRed, 61)) })
			})
		} else {
			c.boxes[0].Punt(message(transport.PortRed, 61))
		}
		c.receives(transport.PortRed, 61)
		if text := c.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, want) || !strings.Contains(text, "card=inner way=punted") || !strings.Contains(text, "lost=1") {
			t.Errorf("%q: %s", want, text)
		}
		if c.boxes[0].Waiting() > 0 {
			t.Errorf("%q: %d beats are left", want, c.boxes[0].Waiting())
		}
	}
}

// TestMailboxTakenOver: what another program left half way harms no frame that comes then.
func TestMailboxTakenOver(t *testing.T) {
	c := newCards(t, func(c *cards) {
		c.boxes[1].PuntPart(message(transport.PortBlack, 500)[:192], false)
		for _, register := range []regs.Register{regs.ShellPuntData, regs.ShellPuntState} {
			if _, err := transport.Read32(c.fake, transport.Outer, transport.Shell+register.Offset); err != nil {
				t.Fatal(err)
			}
		}
		for register, value := range map[regs.Register]uint32{regs.ShellInjectLength: 100, regs.ShellInjectData: 7} {
			if err := transport.Write32(c.fake, transport.Outer, transport.Shell+register.Offset, value); err != nil {
				t.Fatal(err)
			}
		}
	})
	c.boxes[1].PuntPart(message(transport.PortBlack, 500)[192:], true)
	c.boxes[1].Punt(message(transport.PortBlack, 77))
	c.receives(transport.PortBlack, 77)
	if err := c.Send(transport.PortBlack, content(77)); err != nil || len(c.boxes[1].Injected) != 1 || !bytes.Equal(c.boxes[1].Injected[0], content(77)) {
		t.Errorf("%x, %v", c.boxes[1].Injected, err)
	}
}

// TestMailboxSends: frames of every length, each to its port, and no others.
func TestMailboxSends(t *testing.T) {
	c := newCards(t, nil)
	for port, box := range c.boxes {
		for i, length := range lengths(14) {
			if err := c.Send(uint8(port), content(length)); err != nil {
				t.Fatal(err)
			}
			if len(box.Injected) != i+1 || !bytes.Equal(box.Injected[i], content(length)) {
				t.Fatalf("%d bytes came as %d frames", length, len(box.Injected)-i)
			}
		}
	}
	// Between frames for the port, one that goes by policies.
	inner := c.boxes[transport.PortRed]
	before := len(inner.Injected)
	for _, port := range []uint8{transport.PortRed, transport.ByPolicy, transport.PortRed} {
		if err := c.Send(port, content(100)); err != nil {
			t.Fatal(err)
		}
	}
	if got := inner.ByPolicy[before:]; !slices.Equal(got, []bool{false, true, false}) || !bytes.Equal(inner.Injected[before+1], content(100)) {
		t.Errorf("by policy: %v", got)
	}
	for _, wrong := range []struct {
		port   uint8
		length int
	}{{0, 13}, {1, transport.MaxFrame + 1}, {3, 60}} {
		if err := c.Send(wrong.port, content(wrong.length)); err == nil || !strings.Contains(err.Error(), "cannot inject") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if c.log.Len() > 0 {
		t.Error(c.log.String())
	}
}

// TestMailboxIsFull: a frame that the card does not take in time is lost and told, and those behind
// it leave.
func TestMailboxIsFull(t *testing.T) {
	c := newCards(t, nil)
	c.boxes[0].Holds = true
	begin := time.Now()
	for range 3 { // the first has a beat in the mailbox when it is broken off
		if err := c.Send(transport.PortRed, content(200)); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < 200*time.Millisecond || took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if text := c.log.String(); strings.Count(text, "way=injected") != 2 || !strings.Contains(text, "the card does not take it\" lost=2") {
		t.Errorf("told of the first and the second: %s", text)
	}
	c.fake.Behind(func() { c.boxes[0].Holds = false })
	for range 2 {
		if err := c.Send(transport.PortRed, content(200)); err != nil {
			t.Fatal(err)
		}
	}
	if c.boxes[0].Broken != 1 || len(c.boxes[0].Injected) != 2 || !bytes.Equal(c.boxes[0].Injected[1], content(200)) {
		t.Errorf("%d broken off, %d frames", c.boxes[0].Broken, len(c.boxes[0].Injected))
	}
}

// TestMailboxRefuses: another program's frame under way is told, and the next frame leaves.
func TestMailboxRefuses(t *testing.T) {
	c := newCards(t, nil)
	if err := transport.Write32(c.fake, transport.Inner, transport.Shell+regs.ShellInjectLength.Offset, 1000); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Send(transport.PortRed, content(60)); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(c.log.String(), "the mailbox has refused") || len(c.boxes[0].Injected) != 1 || !bytes.Equal(c.boxes[0].Injected[0], content(60)) {
		t.Errorf("%x: %s", c.boxes[0].Injected, c.log.String())
	}
}

// TestMailboxEnds: Close ends a Receive that waits, and so does a card that fails.
func TestMailboxEnds(t *testing.T) {
	c := newCards(t, nil)
	failed := make(chan error)
	receive := func() {
		_, _, err := c.Receive()
		failed <- err
	}
	go receive()
	c.fake.Behind(func() { c.fake.FailAfter = 1 })
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "the bus is gone") {
		t.Errorf("a card that fails: %v", err)
	}
	if err := c.Send(transport.PortRed, content(60)); err == nil {
		t.Error("sent to a card that fails")
	}
	c.fake.FailAfter = 0
	go receive()
	c.Close()
	c.Close()
	if err := <-failed; err == nil {
		t.Error("received from a mailbox that is closed")
	}
	if _, err := transport.OpenMailbox(fakebox.New(fakebox.Small), slog.Default()); err == nil || !strings.Contains(err.Error(), "frames of the inner card") {
		t.Errorf("cores alone: %v", err)
	}
}
