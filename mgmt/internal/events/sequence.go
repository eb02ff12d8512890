// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// exhausted takes the event of an outbound SA that has used its last sequence number (RFC
// 4303, 3.3.3), or whose counter or key row is lost to flipped bits. The inner chip tells of an SA
// that has reached a limit of its own. The crypto chip shows one SA, with bits of two kinds: where
// both are set it may be either's, and an SA that goes on sending shows itself again.
func (s *Source) exhausted(m *model.Model, found func(Event)) error {
	value, err := s.Box.Read32(transport.Crypto, regs.CryptoSequenceEvents)
	if err != nil || value == 0 {
		return err
	}
	control, err := s.Box.Read32(transport.Crypto, regs.CryptoControl)
	if err != nil {
		return err
	}
	if err := s.Box.Write32(transport.Crypto, regs.CryptoControl, control|1<<regs.CryptoControlClearSequenceEvents.LSB); err != nil {
		return err
	}
	event := []uint32{value}
	sa := m.SAs.At(xfrm.DirOut, int(regs.CryptoSequenceEventsSa.Get(event)))
	if sa == nil || regs.CryptoSequenceEventsExhausted.Get(event) == 0 || regs.CryptoSequenceEventsSoftLimit.Get(event) == 1 {
		return nil
	}
	if sa.PacketHard != 0 {
		row, err := s.Box.ReadRow(transport.Crypto, regs.CryptoTableOutboundNumber, sa.Row)
		if err != nil || regs.OutboundNumberRow.Last.Get(row) == sa.LastNumber() {
			return err
		}
	}
	found(eventOf(EventSequence, sa))
	return nil
}
