// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// mostEvents are taken of a queue at a time: as many as it holds. Traffic can fill a queue as fast
// as software empties it, and must not keep it from anything else.
const mostEvents = 16

// eventQueue is a queue of events of a chip (docs/reference/registers.md). `event` shows the
// oldest; where it has `lost` and `valid`, and what the bits of `control` do, is the same for each.
type eventQueue struct {
	name           string
	chip           transport.Chip
	event, control regs.Register
}

var (
	lifetimeQueue = eventQueue{"lifetime", transport.Inner, regs.InnerLifetimeEvent, regs.InnerLifetimeControl}
	peerQueue     = eventQueue{"peer", transport.Inner, regs.InnerPeerEvent, regs.InnerPeerControl}
)

// QueueNames are those in Source.Left.
func QueueNames() []string {
	names := []string{lifetimeQueue.name, peerQueue.name}
	for _, q := range hostQueues {
		names = append(names, q.name)
	}
	for _, q := range auditQueues {
		names = append(names, q.name)
	}
	return names
}

// takeQueue gives `take` the events that a queue held when it was called, and says whether some
// were lost. What came meanwhile is left for the next time, and counted.
func (s *Source) takeQueue(q eventQueue, take func(event []uint32) error) (lost bool, err error) {
	for range mostEvents {
		value, err := s.Box.Read32(q.chip, q.event)
		if err != nil {
			return lost, err
		}
		event := []uint32{value}
		valid, loss := regs.InnerAuditEventValid.Get(event), regs.InnerAuditEventLost.Get(event)
		if valid|loss == 0 {
			return lost, nil
		}
		lost = lost || loss != 0
		if valid != 0 {
			if err := take(event); err != nil {
				return lost, err
			}
		}
		control := valid<<regs.InnerAuditControlPop.LSB | loss<<regs.InnerAuditControlClearLost.LSB
		if err := s.Box.Write32(q.chip, q.control, uint32(control)); err != nil {
			return lost, err
		}
	}
	value, err := s.Box.Read32(q.chip, q.event)
	if err == nil && regs.InnerAuditEventValid.Get([]uint32{value}) != 0 {
		s.Left[q.name]++
	}
	return lost, err
}
