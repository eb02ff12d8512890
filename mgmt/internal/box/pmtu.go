package box

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/suite"
	"sallyport/mgmt/internal/xfrm"
)

// Bytes of what an SA puts around a packet (RFC 4303, 2; RFC 3948, 2.1).
const (
	headerBytes4    = 20
	headerBytes6    = 40
	udpBytes        = 8
	espBytes        = 8 // SPI and sequence number
	espTrailerBytes = 2 // pad length and next header
	espAlign        = 4
)

// pathMTU is the largest outer packet to an address beyond the black port.
func (c *compiler) pathMTU(to netip.Addr) uint32 {
	return cmp.Or(c.m.lookup(xfrm.Black, netip.PrefixFrom(to, to.BitLen())).mtu, c.m.mtu(xfrm.Black))
}

// innerMTU is the longest packet that an outbound SA carries in outer packets of at most mtu bytes (RFC 4301, 8.2.1); 0 if there
// is no room for any.
func innerMTU(sa *SA, mtu uint32) uint32 {
	around := headerBytes4 + espBytes + sa.ICVBits()/8
	if sa.Dst.Is6() {
		around += headerBytes6 - headerBytes4
	}
	if sa.Encap != nil {
		around += udpBytes
	}
	iv, align := espShape(sa.Suite())
	room := (int(mtu) - around - iv) / align * align
	return uint32(max(room-espTrailerBytes, 0))
}

// espShape is the bytes of a suite's IV and of the blocks that it pads to (RFC 3602, 3686, 4106, 4303 2.4, 7634).
func espShape(s *suite.Suite) (iv, align int) {
	switch s.Mode {
	case suite.CBC:
		return 16, 16
	case suite.Plain:
		return 0, espAlign
	default:
		return 8, espAlign
	}
}

// protectMTU is the MTU of what an SA protects: 0, none, if it clears DF, for what is too long is then cut behind ESP.
func (c *compiler) protectMTU(sa *SA, pos xfrm.Pos) (uint32, error) {
	path := c.pathMTU(sa.Dst)
	inner := innerMTU(sa, path)
	if inner < xfrm.MinMTU {
		return 0, xfrm.Errorf(pos, "the mtu of black towards %s, %d, leaves packets of SA spi 0x%x %d bytes: it must leave them %d (RFC 791)", sa.Dst, path, sa.SPI, inner, xfrm.MinMTU)
	}
	if sa.Flags.NoPMTUDisc {
		return 0, nil
	}
	return inner, nil
}
