package box

import (
	"encoding/binary"
	"fmt"

	"sallyport/mgmt/internal/keys"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// Row is a table row in 32-bit words.
type Row []uint32

func newRow(bits int) Row { return make(Row, (bits+31)/32) }

// Bytes of the keys of the cuckoo tables: the low bits of their rows.
const (
	flowKeyBytes = 13
	sadKeyBytes  = 9
)

// key is the low bytes of a row, which a cuckoo table is looked up by.
func (r Row) key(bytes int) string {
	var out []byte
	for _, word := range r {
		out = binary.LittleEndian.AppendUint32(out, word)
	}
	return string(out[:bytes])
}

const (
	protoESP   = 50
	defaultTTL = 64
)

func flowRow(s xfrm.Selector, action, sa uint64, priority uint32) Row {
	f, row := regs.FlowRow, newRow(regs.FlowRow.Bits)
	f.SrcAddr.Put(row, number(s.Src.Addr()))
	f.DstAddr.Put(row, number(s.Dst.Addr()))
	f.SrcPort.Put(row, uint64(s.SPort))
	f.DstPort.Put(row, uint64(s.DPort))
	f.Protocol.Put(row, uint64(s.Proto))
	f.Valid.Put(row, 1)
	f.Action.Put(row, action)
	f.Sa.Put(row, sa)
	f.Priority.Put(row, uint64(priority))
	return row
}

// anyMask is the mask of a field whose value 0 means any.
func anyMask[T uint8 | uint16](value T) uint64 {
	if value == 0 {
		return 0
	}
	return uint64(^T(0))
}

func ruleRow(s xfrm.Selector, action, sa uint64, priority uint32) Row {
	f, row := regs.RuleRow, newRow(regs.RuleRow.Bits)
	f.SrcAddr.Put(row, number(s.Src.Addr()))
	f.SrcMask.Put(row, mask(s.Src))
	f.DstAddr.Put(row, number(s.Dst.Addr()))
	f.DstMask.Put(row, mask(s.Dst))
	f.SrcPort.Put(row, uint64(s.SPort))
	f.SrcPortMask.Put(row, anyMask(s.SPort))
	f.DstPort.Put(row, uint64(s.DPort))
	f.DstPortMask.Put(row, anyMask(s.DPort))
	f.Protocol.Put(row, uint64(s.Proto))
	f.ProtocolMask.Put(row, anyMask(s.Proto))
	f.Valid.Put(row, 1)
	f.Action.Put(row, action)
	f.Sa.Put(row, sa)
	f.Priority.Put(row, uint64(priority))
	return row
}

func selectorRow(sa *SA, s xfrm.Selector, hop int) Row {
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
	f.SrcAddr.Put(row, number(s.Src.Addr()))
	f.SrcMask.Put(row, mask(s.Src))
	f.DstAddr.Put(row, number(s.Dst.Addr()))
	f.DstMask.Put(row, mask(s.Dst))
	f.SrcPort.Put(row, uint64(s.SPort))
	f.SrcPortMask.Put(row, anyMask(s.SPort))
	f.DstPort.Put(row, uint64(s.DPort))
	f.DstPortMask.Put(row, anyMask(s.DPort))
	f.Protocol.Put(row, uint64(s.Proto))
	f.ProtocolMask.Put(row, anyMask(s.Proto))
	return row
}

func hopRow(mac xfrm.MAC) Row {
	f, row := regs.NextHopRow, newRow(regs.NextHopRow.Bits)
	f.Valid.Put(row, 1)
	f.Mac.PutBytes(row, mac[:])
	return row
}

func sadRow(sa *SA) Row {
	f, row := regs.SadRow, newRow(regs.SadRow.Bits)
	f.Spi.Put(row, uint64(sa.SPI))
	f.DstAddr.Put(row, number(sa.Dst))
	f.Protocol.Put(row, protoESP)
	f.Valid.Put(row, 1)
	if sa.Encap != nil {
		f.Encap.Put(row, 1)
	}
	f.Sa.Put(row, uint64(sa.Row))
	return row
}

// tunnelRow makes the outer headers as Linux makes them: DSCP and ECN copied, DF copied unless path MTU discovery is off.
func tunnelRow(sa *SA, hop int, mtu uint32) Row {
	f, row := regs.TunnelRow, newRow(regs.TunnelRow.Bits)
	f.Valid.Put(row, 1)
	f.SrcAddr.Put(row, number(sa.Src))
	f.DstAddr.Put(row, number(sa.Dst))
	f.Ttl.Put(row, defaultTTL)
	if !sa.Flags.DontEncapDSCP {
		f.DscpCopy.Put(row, 1)
	}
	if !sa.Flags.NoECN {
		f.EcnCopy.Put(row, 1)
	}
	if sa.Flags.NoPMTUDisc {
		f.DfMode.Put(row, regs.DfModeClear)
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

// icvValues are the row's codes of the length of an ICV, which the SM3 suites alone have: the others have one length.
var icvValues = map[int]uint64{96: regs.IcvBits96, 128: regs.IcvBits128, 256: regs.IcvBits256}

// keyRow makes the row of either key table. The caller wipes it.
func keyRow(sa *SA) (Row, error) {
	s := sa.Suite()
	material, err := keys.Compute(s, sa.Crypt().Key, sa.Auth.Key, sa.Way == xfrm.DirIn)
	if err != nil {
		return nil, fmt.Errorf("the key of SA spi 0x%x: %w", sa.SPI, err)
	}
	defer material.Wipe()
	common := func(row Row, key, auth, salt, spi, valid, esn, icv, number regs.Field) Row {
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
		number.Put(row, s.Number)
		return row
	}
	if sa.Way == xfrm.DirIn {
		f := regs.InboundKeyRow
		row := common(newRow(f.Bits), f.Key, f.Auth, f.Salt, f.Spi, f.Valid, f.Esn, f.Icv, f.Suite)
		f.Window.Put(row, uint64(sa.ReplayWindow))
		return row, nil
	}
	f := regs.OutboundKeyRow
	row := common(newRow(f.Bits), f.Key, f.Auth, f.Salt, f.Spi, f.Valid, f.Esn, f.Icv, f.Suite)
	f.SoftLimit.Put(row, sa.PacketSoft)
	f.HardLimit.Put(row, sa.PacketHard) // 0: the last that the number on the wire holds (RFC 4303, 3.3.3)
	return row, nil
}
