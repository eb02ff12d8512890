// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"encoding/binary"
	"net/netip"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Expire queues an event of a lifetime, a value of LIFETIME_EVENT.
func (b *Box) Expire(event uint32) { b.raise(&b.events, event) }

// Arrive is a packet of an inbound SA from elsewhere than its peer, authentic or not.
func (b *Box) Arrive(sa uint16, from netip.AddrPort, authentic bool) {
	number := uint32(len(b.places))
	if number == 64 {
		return
	}
	b.places = append(b.places, place{sa, from})
	b.showPlaces()
	if authentic {
		b.raise(&b.peers, uint32(sa)|number<<regs.InnerPeerEventPlace.LSB|b.round<<regs.InnerPeerEventRound.LSB)
	}
}

// Late queues an event of a peer, a value of PEER_EVENT, whose packet was on its way while places
// were freed.
func (b *Box) Late(event uint32) { b.raise(&b.peers, event) }

// Unresolved is a packet to a host at the port of the inner or the outer chip that has no row.
func (b *Box) Unresolved(c transport.Chip, host netip.Addr) { b.UnresolvedIn(c, 0, host) }

// UnresolvedIn is the same in a network.
func (b *Box) UnresolvedIn(c transport.Chip, network uint32, host netip.Addr) {
	event := []uint32{4, 0, 0, 0, 0}
	if host.Is6() {
		event[0] = 6
	}
	event[0] |= network << regs.InnerHostEventNetwork.LSB
	bytes := host.AsSlice()
	for n := range len(bytes) / 4 {
		event[1+n] = binary.BigEndian.Uint32(bytes[len(bytes)-4*(n+1):])
	}
	of := &b.hosts[0]
	if c == transport.Outer {
		of = &b.hosts[1]
	}
	b.raise(of, event...)
}

// Drop drops an authentic packet of an inbound SA, as the inner chip does for a reason of the audit
// log. `packet` is the packet's match key, bits 303:0 of a flow row.
func (b *Box) Drop(sa uint16, reason, sequence uint32, packet ...uint32) {
	b.log(&b.audit, sa, reason, sequence, packet)
}

// Forge is a packet of an inbound SA whose ICV is wrong.
func (b *Box) Forge(sa uint16, sequence uint32) {
	b.log(&b.forged, sa, regs.AuditReasonDecIcv, sequence, nil)
}

// log queues an event of a chip's audit log, unless it is like the last that waits.
func (b *Box) log(q *queue, sa uint16, reason, sequence uint32, packet []uint32) {
	event := uint32(sa) | reason<<regs.InnerAuditEventReason.LSB
	if n := len(q.waiting); n == 0 || q.waiting[n-1][0] != event {
		low, high := b.Get(q.chip, regs.CommonCyclesLo), b.Get(q.chip, regs.CommonCyclesHi)
		b.raise(q, append([]uint32{event, sequence, low, high}, packet...)...)
	}
}

// showPlaces shows what the outer chip's registers say of the places.
func (b *Box) showPlaces() {
	registers := b.chips[transport.Outer].registers
	registers[regs.OuterPeerPlaces.Offset] = uint32(len(b.places)) | b.round<<regs.OuterPeerPlacesRound.LSB
	if number := int(registers[regs.OuterPeerPlace.Offset]); number < len(b.places) {
		octets := b.places[number].from.Addr().As4()
		registers[regs.OuterPeerAddress.Offset] = binary.BigEndian.Uint32(octets[:])
		registers[regs.OuterPeerSa.Offset] = uint32(b.places[number].sa) | uint32(b.places[number].from.Port())<<regs.OuterPeerSaPort.LSB
	}
}
