// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"encoding/binary"

	"sallyport/mgmt/internal/regs"
)

// beatBytes is what a beat of a frame has, but for its last.
const beatBytes = 64

// Of an injected frame (INJECT_LENGTH).
const (
	leastFrame = 14
	mostFrame  = 9596
)

// beat is a part of a punted frame.
type beat struct {
	data []byte
	last bool
}

// Mailbox is the frame mailbox of a shell. Punted frames wait in it, as in the chip behind the real
// one.
type Mailbox struct {
	// Injected are the frames that the chip got whole, and Broken counts those broken off. ByPolicy
	// says of each of Injected that it is not for the port.
	Injected [][]byte
	ByPolicy []bool
	Broken   int
	// Holds says that the chip takes no beat.
	Holds bool

	punted  []beat
	taken   int // words of the first beat that were read
	inFrame bool
	drops   bool

	frame             []byte
	byPolicy          bool
	left, words       int
	last, full, abort bool
	refused           bool
}

// Punt queues a message, which begins with the punt header.
func (m *Mailbox) Punt(message []byte) { m.PuntPart(message, true) }

// PuntPart queues a part of a message, whole beats unless it is the last.
func (m *Mailbox) PuntPart(part []byte, last bool) {
	for len(part) > 0 {
		size := min(beatBytes, len(part))
		m.punted = append(m.punted, beat{part[:size], last && size == len(part)})
		part = part[size:]
	}
	m.drop()
}

// Waiting counts the punted beats that software has not taken.
func (m *Mailbox) Waiting() int { return len(m.punted) }

func (m *Mailbox) puntState() uint32 {
	if len(m.punted) == 0 {
		return 0
	}
	state := uint32(len(m.punted[0].data)) | 1<<regs.ShellPuntStateValid.LSB
	if m.punted[0].last {
		state |= 1 << regs.ShellPuntStateLast.LSB
	}
	return state
}

func (m *Mailbox) puntData() uint32 {
	if len(m.punted) == 0 {
		return 0
	}
	var word [4]byte
	data := m.punted[0].data
	copy(word[:], data[4*m.taken:])
	if m.taken++; 4*m.taken >= len(data) {
		m.take()
	}
	return binary.LittleEndian.Uint32(word[:])
}

// take takes the first beat.
func (m *Mailbox) take() {
	last := m.punted[0].last
	m.punted, m.taken, m.inFrame = m.punted[1:], 0, !last
	m.drops = m.drops && !last
}

func (m *Mailbox) puntControl(data uint32) {
	if data>>regs.ShellPuntControlDrop.LSB&1 != 0 && (m.inFrame || len(m.punted) > 0) {
		m.drops = true
		m.drop()
	}
}

// drop throws beats away up to the end of a frame that is not wanted.
func (m *Mailbox) drop() {
	for m.drops && len(m.punted) > 0 {
		m.take()
	}
}

func (m *Mailbox) injectLength(data uint32) {
	row := []uint32{data}
	length := uint32(regs.ShellInjectLengthLength.Get(row))
	if m.left > 0 || m.full || m.abort || length < leastFrame || length > mostFrame {
		m.refused = true
		return
	}
	m.left, m.frame, m.byPolicy = int(length), nil, regs.ShellInjectLengthEncrypt.Get(row) != 0
}

func (m *Mailbox) injectData(data uint32) {
	if m.left == 0 || m.full {
		m.refused = true
		return
	}
	size := min(4, m.left)
	m.frame = append(m.frame, binary.LittleEndian.AppendUint32(nil, data)[:size]...)
	m.left, m.words = m.left-size, m.words+1
	m.last = m.left == 0
	m.full = m.last || 4*m.words == beatBytes
	m.offer()
}

// offer gives the chip the beat that is whole.
func (m *Mailbox) offer() {
	if m.Holds || !m.full && !m.abort {
		return
	}
	if m.abort {
		m.Broken++
	} else if m.last {
		m.Injected, m.ByPolicy = append(m.Injected, m.frame), append(m.ByPolicy, m.byPolicy)
	}
	m.full, m.abort, m.words = false, false, 0
}

func (m *Mailbox) injectControl(data uint32) {
	if data>>regs.ShellInjectControlAbort.LSB&1 != 0 && m.left > 0 {
		m.abort, m.left = true, 0
		m.offer()
	}
	if data>>regs.ShellInjectControlClear.LSB&1 != 0 {
		m.refused = false
	}
}

func (m *Mailbox) injectState() uint32 {
	m.offer()
	state := uint32(m.left)
	if !m.full && !m.abort {
		state |= 1 << regs.ShellInjectStateReady.LSB
	}
	if m.refused {
		state |= 1 << regs.ShellInjectStateRefused.LSB
	}
	return state
}
