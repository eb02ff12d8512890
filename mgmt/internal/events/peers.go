// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/binary"
	"net/netip"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// takePeers takes the waiting events of moved peers, and calls `moved` for each with the row of the
// inbound SA and the source of its packet. The inner chip names the authentic packets, and the
// outer chip holds the source of each. It says whether packets had taken places of the outer chip
// when it began.
//
// An event of a packet from before the places were freed belongs to another round. takePeers
// ignores it, because its place may hold a forged source by then.
func (s *Source) takePeers(moved func(row int, from netip.AddrPort)) (taken bool, err error) {
	places, err := s.Box.Read32(transport.Outer, regs.OuterPeerPlaces)
	if err != nil {
		return false, err
	}
	taken = regs.OuterPeerPlacesTaken.Get([]uint32{places}) != 0
	round := regs.OuterPeerPlacesRound.Get([]uint32{places})
	_, err = s.takeQueue(peerQueue, func(event []uint32) error {
		if regs.InnerPeerEventRound.Get(event) != round {
			return nil
		}
		row, from, err := s.peerPlace(regs.InnerPeerEventPlace.Get(event))
		if err == nil && uint64(row) == regs.InnerPeerEventSa.Get(event) {
			moved(row, from)
		}
		return err
	})
	return taken, err
}

// freePlaces frees the outer chip's places, which begins a new round.
func (s *Source) freePlaces() error {
	return s.Box.Write32(transport.Outer, regs.OuterPeerControl, 1<<regs.OuterPeerControlClear.LSB)
}

// peerPlace reads a place: the row of the inbound SA, and where its packet came from.
func (s *Source) peerPlace(place uint64) (row int, from netip.AddrPort, err error) {
	if err = s.Box.Write32(transport.Outer, regs.OuterPeerPlace, uint32(place)); err != nil {
		return
	}
	address, err := s.Box.Read32(transport.Outer, regs.OuterPeerAddress)
	if err != nil {
		return
	}
	value, err := s.Box.Read32(transport.Outer, regs.OuterPeerSa)
	sa := []uint32{value}
	octets := [4]byte{}
	binary.BigEndian.PutUint32(octets[:], address)
	return int(regs.OuterPeerSaSa.Get(sa)), netip.AddrPortFrom(netip.AddrFrom4(octets), uint16(regs.OuterPeerSaPort.Get(sa))), err
}

// ForgetPeers discards waiting events if there is a new inbound SA in UDP. Its row may be that of
// another SA, whose events are not its own. A peer that has moved raises an event again with its
// next packet.
func (s *Source) ForgetPeers(m *model.Model) error {
	for _, sa := range m.Changes.Added() {
		if sa.Way == xfrm.DirIn && sa.Encap != nil {
			if _, err := s.takePeers(func(int, netip.AddrPort) {}); err != nil {
				return err
			}
			return s.freePlaces()
		}
	}
	return nil
}

// moved gives, once each, the events of peers that have moved. It frees places only if some were
// taken before it took the events: a packet that comes meanwhile, perhaps the peer's only one,
// keeps its place until its event is taken.
func (s *Source) moved(m *model.Model, found func(Event)) error {
	type move struct {
		sa   *model.SA
		from netip.AddrPort
	}
	told := map[move]bool{}
	taken, err := s.takePeers(func(row int, from netip.AddrPort) {
		sa := m.SAs.At(xfrm.DirIn, row)
		if sa == nil || sa.Encap == nil || sa.Peer() == from || told[move{sa, from}] {
			return
		}
		told[move{sa, from}] = true
		e := eventOf(EventMapping, sa)
		e.Old, e.New = sa.Peer(), from
		found(e)
	})
	if err != nil || !taken {
		return err
	}
	return s.freePlaces()
}
