// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/keys"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// Row is a table row in 32-bit words.
type Row []uint32

func newRow(bits int) Row { return make(Row, (bits+31)/32) }

// low gives the low bytes of a row.
func (r Row) low(bytes int) string {
	var out []byte
	for _, word := range r {
		out = binary.LittleEndian.AppendUint32(out, word)
	}
	return string(out[:bytes])
}

// FlowKey and sadKey give the lookup key of a row of a cuckoo table. A router finds an SA by its
// SPI alone. A bump in the wire, whose SAs are in transport mode, finds it by SPI and destination.
func FlowKey(r Row) string { return r.low(39) }

func SadKey(r Row) string {
	const spi, whole = 4, 21
	if regs.SadRow.Transport.Get(r) == 1 {
		return r.low(whole)
	}
	return r.low(spi) + string(make([]byte, whole-spi))
}

// HostKey gives that of a row of hosts.
func HostKey(r Row) string {
	return addressKey(r, regs.HostRow.Version)[:16] + string(binary.LittleEndian.AppendUint16(nil, uint16(regs.HostRow.Version.Get(r)|regs.HostRow.Network.Get(r)<<regs.HostRow.Version.Width)))
}

// addressKey is that of rows that begin with an address, and have its version behind it.
func addressKey(r Row, version regs.Field) string {
	return r.low(16) + string([]byte{byte(version.Get(r))})
}

// putAddress writes an address and its IP version.
func putAddress(row Row, addr, version regs.Field, ip netip.Addr) {
	addr.PutBytes(row, addrBytes(ip))
	version.Put(row, 4)
	if ip.Is6() {
		version.Put(row, 6)
	}
}

const defaultTTL = 64 // and hop limit

// decision is what an SPD entry says of its packets.
type decision struct {
	action, argument uint64 // argument: the SA of PROTECT, the next hop of BYPASS
	priority         uint32
	mtu              uint32 // longest packet; 0 is any
	fragment         bool   // longer ones are cut before they go on, if they may be
	transport        bool   // PROTECT: the SA is in transport mode
	tfc              uint32 // PROTECT: least length in units of 4 bytes
	byDSCP           bool   // PROTECT: argument is a block of SAs
	clamp            bool   // PROTECT: TCP segments are to fit mtu
	usage            int    // row that counts them
}

// flowRow is the row of packets that are one flow.
func flowRow(p packet, d decision) Row {
	row := newRow(regs.FlowRow.Bits)
	p.put(row)
	regs.FlowRow.Network.Put(row, uint64(p.network))
	d.put(row)
	return row
}

// put writes a decision, for which flows, rules and policies by prefix have the same fields.
func (d decision) put(row Row) {
	f := regs.FlowRow
	f.Valid.Put(row, 1)
	f.Action.Put(row, d.action)
	f.Sa.Put(row, d.argument)
	f.Priority.Put(row, uint64(d.priority))
	f.Mtu.Put(row, uint64(d.mtu))
	f.Tfc.Put(row, uint64(d.tfc))
	f.Usage.Put(row, uint64(d.usage))
	if d.fragment {
		f.Fragment.Put(row, 1)
	}
	if d.transport {
		f.Transport.Put(row, 1)
	}
	if d.byDSCP {
		f.ByDscp.Put(row, 1)
	}
	if d.clamp {
		f.Clamp.Put(row, 1)
	}
}

// namedRow is the row of a policy by prefix, which names no other one yet.
func namedRow(src netip.Prefix, d decision) Row {
	f, row := regs.PrefixPolicyRow, newRow(regs.PrefixPolicyRow.Bits)
	f.SrcPrefix.Put(row, prefixes.Key(src.Addr()))
	f.SrcLength.Put(row, uint64(src.Bits()))
	d.put(row)
	return row
}

// ruleRows are the rows of a selector, one for each two prefixes of its sides and each block of its
// ranges. Each begins as a flow row does (regs/rows.rdl).
func (c *compiler) ruleRows(s xfrm.Selector, d decision) (rows []Row) {
	for _, part := range s.Parts() {
		rows = append(rows, partRows(part, c.packetOf(part), d)...)
	}
	return rows
}

// partRows are those of a selector of one prefix a side.
func partRows(s xfrm.Selector, whole packet, d decision) (rows []Row) {
	f := regs.RuleRow
	for _, p := range whole.blocks() {
		row := newRow(f.Bits)
		copy(row, flowRow(p, d))
		f.SrcMask.PutBytes(row, prefixMask(s.Src))
		f.DstMask.PutBytes(row, prefixMask(s.Dst))
		f.SrcPortMask.Put(row, portMask(p.srcPort))
		f.DstPortMask.Put(row, portMask(p.dstPort))
		f.NetworkMask.Put(row, 1<<f.NetworkMask.Width-1)
		p.putMasks(row, f.ProtocolMask, f.VersionMask, f.UpperMask)
		rows = append(rows, row)
	}
	return rows
}

// inboundRow is what a selector row says of an inbound SA besides its packets.
func inboundRow(sa *model.SA, hop int) Row {
	f, row := regs.SelectorRow, newRow(regs.SelectorRow.Bits)
	f.Valid.Put(row, 1)
	if sa.ReplayWindow > 0 {
		f.Replay.Put(row, 1)
		f.WindowSize.Put(row, uint64(sa.ReplayWindow))
		for i, field := range windowFields {
			if i < len(sa.WindowRows) {
				field.Put(row, uint64(sa.WindowRows[i]))
			}
		}
	}
	f.NextHop.Put(row, uint64(hop))
	return row
}

// selectorRow is the row of an inbound SA of one selector.
func selectorRow(sa *model.SA, s xfrm.Selector, hop int) Row {
	f, row := regs.SelectorRow, inboundRow(sa, hop)
	p := packetOf(s)
	p.put(row)
	f.SrcPrefix.Put(row, depth(s.Src))
	f.DstPrefix.Put(row, depth(s.Dst))
	f.SrcPortLast.Put(row, lastPort(p.srcPort))
	f.DstPortLast.Put(row, lastPort(p.dstPort))
	p.putMasks(row, f.ProtocolMask, f.VersionMask, f.UpperMask)
	return row
}

// groupRow is the row of an inbound SA whose selector sets are rules.
func groupRow(sa *model.SA, group, hop int) Row {
	f, row := regs.SelectorRow, inboundRow(sa, hop)
	f.ByRules.Put(row, 1)
	f.Group.Put(row, uint64(group))
	return row
}

// hopRow is a next hop with its tags as they stand on the wire; subnet: a route of a part of the
// port's network leads there.
func hopRow(mac xfrm.MAC, tags []byte, subnet bool) Row {
	f, row := regs.NextHopRow, newRow(regs.NextHopRow.Bits)
	f.Valid.Put(row, 1)
	f.Mac.PutBytes(row, mac[:])
	f.Tags.Put(row, uint64(len(tags)/4))
	f.TagBytes.PutBytes(row, tags)
	if subnet {
		f.Subnet.Put(row, 1)
	}
	return row
}

// backRow is the next hop of packets out of tunnels that go back to black, through another tunnel.
func backRow() Row {
	row := newRow(regs.NextHopRow.Bits)
	regs.NextHopRow.Valid.Put(row, 1)
	regs.NextHopRow.Hairpin.Put(row, 1)
	return row
}

// hostRow is a host straight behind a port.
func hostRow(host model.NextHop, mac xfrm.MAC, tags []byte) Row {
	f, row := regs.HostRow, newRow(regs.HostRow.Bits)
	putAddress(row, f.Addr, f.Version, host.IP)
	f.Network.Put(row, uint64(host.Network))
	f.Valid.Put(row, 1)
	f.Mac.PutBytes(row, mac[:])
	f.Tags.Put(row, uint64(len(tags)/4))
	f.TagBytes.PutBytes(row, tags)
	return row
}

func sadRow(sa *model.SA) Row {
	f, row := regs.SadRow, newRow(regs.SadRow.Bits)
	f.Spi.Put(row, uint64(sa.SPI))
	putAddress(row, f.DstAddr, f.Version, sa.Dst)
	f.Valid.Put(row, 1)
	if sa.Encap != nil {
		f.Encap.Put(row, 1)
		// the chip has no place for where packets over IPv6 come from
		if peer := sa.Peer(); peer.Addr().Is4() {
			f.PeerAddr.PutBytes(row, addrBytes(peer.Addr()))
			f.PeerPort.Put(row, uint64(peer.Port()))
		}
	}
	if sa.Mode == xfrm.ModeTransport {
		f.Transport.Put(row, 1)
	}
	f.Sa.Put(row, uint64(sa.Row))
	return row
}

// tunnelRow makes the outer headers as Linux makes them unless the SA says otherwise: DSCP and ECN
// copied, DF of IPv4 copied; array is that of its map of DSCPs, if it has one.
func tunnelRow(sa *model.SA, hop int, mtu uint32, array int) Row {
	f, row := regs.TunnelRow, newRow(regs.TunnelRow.Bits)
	f.Valid.Put(row, 1)
	f.SrcAddr.PutBytes(row, addrBytes(sa.Src))
	f.DstAddr.PutBytes(row, addrBytes(sa.Dst))
	if sa.Dst.Is6() {
		f.V6.Put(row, 1)
		f.FlowLabel.Put(row, flowLabel(sa))
	}
	f.Ttl.Put(row, defaultTTL)
	switch dscp, copied := sa.OuterDSCP(); {
	case sa.DSCP.Map != nil:
		f.DscpMap.Put(row, 1)
		f.Dscp.Put(row, uint64(array))
	case copied:
		f.DscpCopy.Put(row, 1)
	default:
		f.Dscp.Put(row, uint64(dscp))
	}
	if !sa.Flags.NoECN {
		f.EcnCopy.Put(row, 1)
	}
	switch {
	case sa.ClearsDF():
		f.DfMode.Put(row, regs.DfModeClear)
	case sa.SetsDF():
		f.DfMode.Put(row, regs.DfModeSet)
	}
	f.NextHop.Put(row, uint64(hop))
	f.Mtu.Put(row, uint64(mtu))
	if e := sa.Encap; e != nil {
		f.Encap.Put(row, 1)
		f.SrcPort.Put(row, uint64(e.SPort))
		f.DstPort.Put(row, uint64(e.DPort))
	}
	return row
}

// flowLabel is that of an SA's packets over IPv6, by which routers spread SAs over equal paths (RFC
// 6438, 3): a hash of its ends and its SPI, which black can read anyway. It is never 0, which is no
// label (RFC 6437, 2).
func flowLabel(sa *model.SA) uint64 {
	src, dst := sa.Src.As16(), sa.Dst.As16()
	hash := sha256.Sum256(binary.BigEndian.AppendUint32(slices.Concat(src[:], dst[:]), sa.SPI))
	return max(uint64(binary.BigEndian.Uint32(hash[:])>>(32-regs.TunnelRow.FlowLabel.Width)), 1)
}

// icvValues are the row's codes of the length of an ICV, which the SM3 suites alone have: the
// others have one length.
var icvValues = map[int]uint64{96: regs.IcvBits96, 128: regs.IcvBits128, 256: regs.IcvBits256}

// KeyRow makes the row of either key table; IVs of an outbound one are sequence numbers XOR ivMask.
// The caller wipes it.
func KeyRow(sa *model.SA, ivMask uint64) (Row, error) {
	s := sa.Suite()
	material, err := keys.Compute(s, sa.Crypt().Key, sa.Auth.Key, sa.Way == xfrm.DirIn)
	if err != nil {
		return nil, fmt.Errorf("the key of SA spi 0x%x: %w", sa.SPI, err)
	}
	defer material.Wipe()
	common := func(row Row, key, auth, salt, spi, valid, esn, icv, transport, number regs.Field) Row {
		key.PutBytes(row, material.Key[:])
		auth.PutBytes(row, material.Auth[:])
		salt.PutBytes(row, material.Salt[:])
		spi.Put(row, uint64(sa.SPI))
		valid.Put(row, 1)
		if sa.Flags.ESN {
			esn.Put(row, 1)
		}
		if len(s.ICVBits) > 1 {
			icv.Put(row, icvValues[sa.ICVBits()])
		}
		if sa.Mode == xfrm.ModeTransport {
			transport.Put(row, 1)
		}
		number.Put(row, s.Number)
		return row
	}
	if sa.Way == xfrm.DirIn {
		f := regs.InboundKeyRow
		row := common(newRow(f.Bits), f.Key, f.Auth, f.Salt, f.Spi, f.Valid, f.Esn, f.Icv, f.Transport, f.Suite)
		f.Window.Put(row, uint64(sa.ReplayWindow))
		return row, nil
	}
	f := regs.OutboundKeyRow
	row := common(newRow(f.Bits), f.Key, f.Auth, f.Salt, f.Spi, f.Valid, f.Esn, f.Icv, f.Transport, f.Suite)
	f.IvMask.Put(row, ivMask)
	f.SoftLimit.Put(row, sa.SoftNumber())
	// 0: the last that the number on the wire holds (RFC 4303, 3.3.3)
	f.HardLimit.Put(row, sa.LastNumber())
	f.Node.Put(row, uint64(sa.Node.Number))
	f.NodeBits.Put(row, uint64(sa.Node.Bits()))
	return row, nil
}
