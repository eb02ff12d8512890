package box

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// numberRow is a row of either table of sequence numbers on the crypto chip; both have one field, of 64 bits from bit 0.
func numberRow(number uint64) Row {
	row := newRow(regs.OutboundNumberRow.Bits)
	regs.OutboundNumberRow.Last.Put(row, number)
	return row
}

// numberTable has the sequence numbers of SAs of a direction.
func numberTable(way xfrm.Dir) regs.Table {
	if way == xfrm.DirOut {
		return regs.CryptoTableOutboundNumber
	}
	return regs.CryptoTableInboundNumber
}
