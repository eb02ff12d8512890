// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"encoding/binary"
	"math"
	"net"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// wanted is what a field of a packet must be, in the bits of the mask.
type wanted struct{ value, mask uint64 }

// want is one value in all bits of a field, or none in particular.
func want(f regs.Field, given bool, value uint64) wanted {
	if !given {
		return wanted{}
	}
	return wanted{value, 1<<f.Width - 1}
}

// packet has a selector's conditions on a packet: the fields with which flow, rule and selector
// rows all begin (PACKET_FIELDS in regs/rows.rdl). Fields that the selector does not name are 0.
type packet struct {
	src, dst                 netip.Addr
	srcPort, dstPort         xfrm.Range // of ICMP its type and code, of a mobility header its type
	protocol, version, upper wanted
	network                  int // its number
}

// packetOf has the number of the selector's network besides.
func (c *compiler) packetOf(s xfrm.Selector) packet {
	p := packetOf(s)
	p.network = c.m.NetworkOf(s.VRF)
	return p
}

func packetOf(s xfrm.Selector) packet {
	f := regs.FlowRow
	p := packet{
		src: s.Src.Addr(), dst: s.Dst.Addr(),
		protocol: want(f.Protocol, s.Proto != 0, uint64(s.Proto)),
		version:  versionOf(s),
	}
	switch {
	case s.Opaque:
		p.upper = want(f.Upper, true, regs.UpperOpaque)
	case s.SPort.Given || s.DPort.Given:
		p.upper = want(f.Upper, true, regs.UpperPorts)
		p.srcPort, p.dstPort = s.SPort, s.DPort
	case s.Type.Given || s.Code.Given:
		p.upper = want(f.Upper, true, regs.UpperIcmp)
		p.srcPort, p.dstPort = s.Type, s.Code
	}
	return p
}

// toGroup is the bit of the version that packets to groups have and others have not.
const toGroup = 1

// versionOf is a selector's IP version, and whether its packets are those to groups.
func versionOf(s xfrm.Selector) wanted {
	version := want(regs.FlowRow.Version, s.Version() != 0, uint64(s.Version()))
	version.mask |= toGroup
	if s.ToGroups() {
		version.value |= toGroup
	}
	return version
}

// blocks are the parts of a packet's ranges that a value and a mask can name.
func (p packet) blocks() (out []packet) {
	for _, srcPort := range p.srcPort.Blocks() {
		for _, dstPort := range p.dstPort.Blocks() {
			part := p
			part.srcPort, part.dstPort = srcPort, dstPort
			out = append(out, part)
		}
	}
	return out
}

// put writes the values, and the first numbers of ranges, into a row of any of the three kinds.
func (p packet) put(row Row) {
	f := regs.FlowRow
	f.SrcAddr.PutBytes(row, addrBytes(p.src))
	f.DstAddr.PutBytes(row, addrBytes(p.dst))
	f.SrcPort.Put(row, uint64(p.srcPort.First))
	f.DstPort.Put(row, uint64(p.dstPort.First))
	f.Protocol.Put(row, p.protocol.value)
	f.Version.Put(row, p.version.value)
	f.Upper.Put(row, p.upper.value)
}

// putMasks writes the masks of all but addresses and ports into the fields that a kind of row has
// for them.
func (p packet) putMasks(row Row, protocol, version, upper regs.Field) {
	protocol.Put(row, p.protocol.mask)
	version.Put(row, p.version.mask)
	upper.Put(row, p.upper.mask)
}

// portMask is the mask of the ports of a block.
func portMask(ports xfrm.Range) uint64 {
	if !ports.Given {
		return 0
	}
	return uint64(^(ports.First ^ ports.Last))
}

// lastPort is the last number of a range.
func lastPort(ports xfrm.Range) uint64 {
	if !ports.Given {
		return math.MaxUint16
	}
	return uint64(ports.Last)
}

// addrBytes is an address as a number, lowest byte first; none is 0.
func addrBytes(addr netip.Addr) []byte {
	octets := addr.AsSlice()
	slices.Reverse(octets)
	return octets
}

// depth is how many of a row's 128 bits of an address a prefix fixes, from the highest: an IPv4
// address has zeros above.
func depth(p netip.Prefix) uint64 {
	if !p.IsValid() {
		return 0
	}
	return uint64(128 - p.Addr().BitLen() + p.Bits())
}

// prefixMask has those bits set, lowest byte first.
func prefixMask(p netip.Prefix) []byte {
	mask := net.CIDRMask(int(depth(p)), 128)
	slices.Reverse(mask)
	return mask
}

// Word gives bits 32n and up of an address as a number, as registers hold it, or 0 without an
// address.
func Word(addr netip.Addr, n int) uint32 {
	octets := make([]byte, 16)
	copy(octets, addrBytes(addr))
	return binary.LittleEndian.Uint32(octets[4*n:])
}
