// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// Bytes of what an SA puts around a packet (RFC 4303, 2; RFC 3948, 2.1).
const (
	headerBytes4    = 20
	headerBytes6    = 40
	udpBytes        = 8
	espBytes        = 8 // SPI and sequence number
	espTrailerBytes = 2 // pad length and next header
)

// PathMTU is the largest packet of ESP of an outbound SA. Frames that pass a bridge have no route.
func (m *Model) PathMTU(sa *SA) uint32 {
	if sa.Mode == xfrm.ModeTransport {
		return m.Mtu(xfrm.Black)
	}
	to := sa.Dst
	return m.TunnelMTU(sa, cmp.Or(m.Lookup(xfrm.Black, netip.PrefixFrom(to, to.BitLen())).Mtu, m.Mtu(xfrm.Black)))
}

// InnerMTU is the longest packet that an outbound SA carries in packets of ESP of at most mtu bytes
// (RFC 4301, 8.2.1), or 0 if none fits. In transport mode ESP covers the bytes behind the packet's
// own header, which has no options.
func InnerMTU(sa *SA, mtu uint32) uint32 {
	around := outerBytes(sa) + espBytes + sa.ICVBits()/8
	s := sa.Suite()
	room := (int(mtu) - around - s.IV) / s.Align * s.Align
	inner := max(room-espTrailerBytes, 0)
	if sa.Mode == xfrm.ModeTransport && inner > 0 {
		inner += headerOf(sa)
	}
	return uint32(inner)
}

// headerOf is the length of the IP header of an SA's packets, which has no options.
func headerOf(sa *SA) int {
	if sa.Dst.Is6() {
		return headerBytes6
	}
	return headerBytes4
}

// outerBytes is the length of the headers in front of ESP.
func outerBytes(sa *SA) int {
	if sa.Encap != nil {
		return headerOf(sa) + udpBytes
	}
	return headerOf(sa)
}

// ReturnMTU is the longest packet that an SA like an inbound one carries the other way: what TCP of
// the red side may send in answer. What messages of black said of the path is not in it.
func (m *Model) ReturnMTU(sa *SA) uint32 {
	to := netip.PrefixFrom(sa.Src, sa.Src.BitLen())
	return InnerMTU(sa, cmp.Or(m.Lookup(xfrm.Black, to).Mtu, m.Mtu(xfrm.Black)))
}

// longestESP is the longest packet from SPI to ICV that the crypto chip makes.
const longestESP = 9582

// protectMTU is the MTU of packets that an SA protects. If a tunnel clears DF, it is the longest
// that one packet of ESP can hold, because the box then fragments long packets behind ESP.
func (m *Model) protectMTU(sa *SA, pos xfrm.Pos) (uint32, error) {
	path := m.PathMTU(sa)
	inner := InnerMTU(sa, path)
	if inner < xfrm.MinMTU {
		return 0, xfrm.Errorf(pos, "the mtu of black towards %s, %d, leaves packets of SA spi 0x%x %d bytes: it must leave them %d (RFC 791)", sa.Dst, path, sa.SPI, inner, xfrm.MinMTU)
	}
	if sa.ClearsDF() && sa.Mode == xfrm.ModeTunnel {
		return InnerMTU(sa, longestESP+uint32(outerBytes(sa))), nil
	}
	return inner, nil
}

// SharedMTU is that of all SAs that one rule leads to: the shortest.
func (m *Model) SharedMTU(sas []*SA, pos xfrm.Pos) (shared uint32, err error) {
	for _, sa := range sas {
		mtu, err := m.protectMTU(sa, pos)
		if err != nil {
			return 0, err
		}
		if shared == 0 || mtu != 0 && mtu < shared {
			shared = mtu
		}
	}
	return shared, nil
}

// EntryMTU is the longest packet that the rows of an out policy let a packet of its be; 0 if they
// have no limit.
func (m *Model) EntryMTU(p *Policy, packet xfrm.Selector) uint32 {
	if p.Template == nil && p.Action == xfrm.ActionAllow {
		for _, sel := range p.ByDst() {
			if sel.Covers(packet) {
				return cmp.Or(m.Lookup(xfrm.Black, sel.Dst).Mtu, m.Mtu(xfrm.Black))
			}
		}
	}
	if p.Template == nil {
		return 0
	}
	for _, choice := range m.Choices(p) {
		if sas := choice.Sas(); sas[0].Carried(p.Selector).Covers(packet) {
			mtu, _ := m.SharedMTU(sas, p.Pos) // what cannot be was refused when it was written
			return mtu
		}
	}
	return 0
}
