// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// NumberRow is a row of either table of sequence numbers on the crypto chip; both have one field,
// of 64 bits from bit 0.
func NumberRow(number uint64) Row {
	row := newRow(regs.OutboundNumberRow.Bits)
	regs.OutboundNumberRow.Last.Put(row, number)
	return row
}

// NumberTable has the sequence numbers of SAs of a direction.
func NumberTable(way xfrm.Dir) regs.Table {
	if way == xfrm.DirOut {
		return regs.CryptoTableOutboundNumber
	}
	return regs.CryptoTableInboundNumber
}
