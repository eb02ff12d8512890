// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// queue is up to 16 events of a chip; `registers` show the oldest, a word each.
type queue struct {
	chip      transport.Chip
	registers []regs.Register
	waiting   [][]uint32
	lost      bool
}

const depth = 16

// The queues are alike in where their first register has `lost` and `valid`, and in the bits of
// their control registers.
var (
	lostBit  = uint32(1) << regs.InnerAuditEventLost.LSB
	validBit = uint32(1) << regs.InnerAuditEventValid.LSB
	pop      = uint32(1) << regs.InnerAuditControlPop.LSB
	clearBit = uint32(1) << regs.InnerAuditControlClearLost.LSB
)

// raise queues an event, or loses it.
func (b *Box) raise(q *queue, words ...uint32) {
	if len(q.waiting) == depth {
		q.lost = true
	} else {
		q.waiting = append(q.waiting, words)
	}
	b.show(q, 0)
}

// show writes a queue's control register and shows the event that is the oldest then.
func (b *Box) show(q *queue, control uint32) {
	if control&clearBit != 0 {
		q.lost = false
	}
	if control&pop != 0 && len(q.waiting) > 0 {
		if b.Flood > 0 {
			b.Flood--
			q.waiting = append(q.waiting, q.waiting[0])
		}
		q.waiting = q.waiting[1:]
	}
	for i, register := range q.registers {
		value := uint32(0)
		if len(q.waiting) > 0 && i < len(q.waiting[0]) {
			value = q.waiting[0][i]
		}
		if i == 0 && len(q.waiting) > 0 {
			value |= validBit
		}
		if i == 0 && q.lost {
			value |= lostBit
		}
		b.Set(q.chip, register, value)
	}
}
