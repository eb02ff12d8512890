// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/bits"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/mgmt/internal/regs"
)

// Of the mailboxes: how often they are looked at when nothing is punted, how long the rest of a
// frame may be in coming or going, and how often it is asked for meanwhile.
const (
	mailboxIdle     = time.Millisecond
	MailboxPatience = 100 * time.Millisecond
	mailboxGap      = 100 * time.Microsecond
)

// Of a beat of the streams, and of an injected frame.
const (
	beatBytes  = 64
	leastFrame = 14
)

// mostMessage is the longest frame with the punt header in front of it, in bytes.
var mostMessage = punted.Bits/8 + MaxFrame

// ends are the cards that have the ports.
var ends = [2]Chip{PortRed: Inner, PortBlack: Outer}

// Mailbox is the management CPU's end of the punt and inject streams of cards: the frame mailboxes
// of the inner and the outer card's shells (regs/shell.rdl), which have no interrupt. Receive looks
// at both every millisecond, takes frames in turn if both have one, and may run beside Send. Close
// ends both.
//
// A frame that breaks the mailbox's rules, or that a card does not take within 100 ms, is lost as
// on a wire. The mailbox stays in step, and the log reports it.
type Mailbox struct {
	t       Transport
	log     *slog.Logger
	message []byte // Receive's
	next    uint8  // the port that Receive looks at first
	sends   [2]sync.Mutex
	lost    atomic.Uint64
	closed  chan struct{}
	close   sync.Once
}

// OpenMailbox takes the mailboxes of cards. Their transport must allow several calls of Do at once
// and outlive Receive and Send. OpenMailbox discards the half-read frames of another program. That
// may lose a whole punted frame, because no mark tells a frame's first beat from its others.
func OpenMailbox(t Transport, log *slog.Logger) (*Mailbox, error) {
	m := &Mailbox{t: t, log: log, message: make([]byte, 0, mostMessage), closed: make(chan struct{})}
	for _, c := range ends {
		err := t.Do([]Op{
			pulse(c, regs.ShellPuntControl, regs.ShellPuntControlDrop),
			pulse(c, regs.ShellInjectControl, regs.ShellInjectControlAbort, regs.ShellInjectControlClear),
		})
		if err != nil {
			return nil, fmt.Errorf("taking the frames of the %s card: %w", c, err)
		}
	}
	return m, nil
}

// Receive waits for the next punted frame, which is the caller's.
func (m *Mailbox) Receive() (PuntHeader, []byte, error) {
	for {
		for range ends {
			port := m.next
			m.next = PortBlack - port
			header, frame, err := m.take(port)
			if err != nil || frame != nil {
				return header, frame, err
			}
		}
		if !m.wait(mailboxIdle) {
			return PuntHeader{}, nil, net.ErrClosed
		}
	}
}

// wait is false if Close came first.
func (m *Mailbox) wait(d time.Duration) bool {
	select {
	case <-m.closed:
		return false
	case <-time.After(d):
		return true
	}
}

// take takes the frame that waits at a port. Without one, or if it was lost, there is none.
func (m *Mailbox) take(port uint8) (header PuntHeader, frame []byte, err error) {
	c := ends[port]
	m.message = m.message[:0]
	state, err := m.state(c, regs.ShellPuntState)
	for err == nil && state.has(regs.ShellPuntStateValid) {
		if wrong := m.misfit(state.bytes()); wrong != "" {
			return header, nil, m.drop(c, wrong)
		}
		last := state.has(regs.ShellPuntStateLast)
		if state, err = m.takeBeat(c, state.bytes()); last && err == nil {
			return m.split(port)
		}
		if err == nil {
			state, err = m.until(c, regs.ShellPuntState, regs.ShellPuntStateValid, state)
		}
	}
	if err == nil && len(m.message) > 0 {
		err = m.drop(c, "the rest of it does not come")
	}
	return header, nil, err
}

// misfit says why a beat of so many bytes cannot follow the bytes taken so far; it is empty if the
// beat can.
func (m *Mailbox) misfit(bytes int) string {
	switch taken := len(m.message); {
	case bytes == 0 || bytes > beatBytes:
		return fmt.Sprintf("it has a beat of %d bytes", bytes)
	case taken > 0 && taken < punted.Bits/8:
		return fmt.Sprintf("its first beat has %d bytes", taken)
	case taken+bytes > mostMessage || taken > 0 && taken+bytes > punted.Bits/8+int(punted.Length.Get(headerRow(m.message))):
		return "it is longer than a frame, or than its header says"
	}
	return ""
}

// takeBeat adds a beat to the message, and gives PUNT_STATE behind it.
func (m *Mailbox) takeBeat(c Chip, bytes int) (state, error) {
	ops := make([]Op, 0, beatBytes/4+1)
	for range (bytes + 3) / 4 {
		ops = append(ops, Read(c, Shell+regs.ShellPuntData.Offset))
	}
	ops = append(ops, Read(c, Shell+regs.ShellPuntState.Offset))
	err := m.t.Do(ops)
	end := len(m.message) + bytes
	for _, op := range ops[:len(ops)-1] {
		m.message = binary.LittleEndian.AppendUint32(m.message, op.Data)
	}
	m.message = m.message[:end]
	return state(ops[len(ops)-1].Data), err
}

// split reads the message that is whole, if it is a frame of the port.
func (m *Mailbox) split(port uint8) (PuntHeader, []byte, error) {
	header, frame, err := splitPunted(m.message)
	if err == nil && header.Port != port {
		err = fmt.Errorf("its header is of port %d", header.Port)
	}
	if err != nil {
		m.lose(ends[port], "punted", err.Error())
		return header, nil, nil
	}
	return header, append([]byte(nil), frame...), nil
}

// drop has the mailbox throw away the rest of the punted frame.
func (m *Mailbox) drop(c Chip, why string) error {
	m.lose(c, "punted", why)
	return m.t.Do([]Op{pulse(c, regs.ShellPuntControl, regs.ShellPuntControlDrop)})
}

// Send injects an Ethernet frame, without FCS, that leaves by a port or by policies. While the card
// has no room it waits, for 100 ms at most.
func (m *Mailbox) Send(port uint8, frame []byte) error {
	if err := mayInject(port, frame, leastFrame); err != nil {
		return err
	}
	length := uint32(len(frame))
	if port == ByPolicy {
		port, length = PortRed, length|1<<regs.ShellInjectLengthEncrypt.LSB
	}
	m.sends[port].Lock()
	defer m.sends[port].Unlock()
	c := ends[port]
	now, err := m.state(c, regs.ShellInjectState)
	ops := []Op{Write(c, Shell+regs.ShellInjectLength.Offset, length)}
	for begin := 0; err == nil && begin < len(frame); begin += beatBytes {
		if now, err = m.until(c, regs.ShellInjectState, regs.ShellInjectStateReady, now); err != nil {
			return err
		}
		if !now.has(regs.ShellInjectStateReady) {
			return m.abort(c, "the card does not take it")
		}
		for at := begin; at < min(begin+beatBytes, len(frame)); at += 4 {
			var word [4]byte
			copy(word[:], frame[at:])
			ops = append(ops, Write(c, Shell+regs.ShellInjectData.Offset, binary.LittleEndian.Uint32(word[:])))
		}
		ops = append(ops, Read(c, Shell+regs.ShellInjectState.Offset))
		err = m.t.Do(ops)
		now, ops = state(ops[len(ops)-1].Data), ops[:0]
	}
	if err == nil && now.has(regs.ShellInjectStateRefused) {
		return m.abort(c, "the mailbox has refused a part of it: does another program use it?")
	}
	return err
}

// abort breaks the frame under way off.
func (m *Mailbox) abort(c Chip, why string) error {
	m.lose(c, "injected", why)
	return m.t.Do([]Op{pulse(c, regs.ShellInjectControl, regs.ShellInjectControlAbort, regs.ShellInjectControlClear)})
}

// lose counts a frame that is lost, and tells the log of the first, the second, the fourth and
// so on.
func (m *Mailbox) lose(c Chip, way, why string) {
	if lost := m.lost.Add(1); bits.OnesCount64(lost) == 1 {
		m.log.Warn("a frame of the management CPU is lost", "card", c.String(), "way", way, "reason", why, "lost", lost)
	}
}

// state is a word of a state register.
type state uint32

func (s state) has(f regs.Field) bool { return f.Get([]uint32{uint32(s)}) != 0 }

// bytes is PUNT_STATE's.
func (s state) bytes() int { return int(regs.ShellPuntStateBytes.Get([]uint32{uint32(s)})) }

func (m *Mailbox) state(c Chip, r regs.Register) (state, error) {
	word, err := Read32(m.t, c, Shell+r.Offset)
	return state(word), err
}

// until reads a register until a bit is 1 or its patience ends, and returns the last value read;
// the caller has read `now` before.
func (m *Mailbox) until(c Chip, r regs.Register, bit regs.Field, now state) (state, error) {
	var err error
	for deadline := time.Now().Add(MailboxPatience); err == nil && !now.has(bit) && time.Now().Before(deadline); {
		if !m.wait(mailboxGap) {
			return now, net.ErrClosed
		}
		now, err = m.state(c, r)
	}
	return now, err
}

// pulse writes 1 to fields.
func pulse(c Chip, r regs.Register, fields ...regs.Field) Op {
	value := uint32(0)
	for _, f := range fields {
		value |= 1 << f.LSB
	}
	return Write(c, Shell+r.Offset, value)
}

// Close ends a Receive and a Send that wait.
func (m *Mailbox) Close() error {
	m.close.Do(func() { close(m.closed) })
	return nil
}
