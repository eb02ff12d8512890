// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Route is where the inner chip's tree of prefixes leads a packet to: "connected", its next-hop
// rows in their order, or "" if no prefix holds the address. It follows the rows as regs/rows.rdl
// has them, and fails on a way that leads to a row that is not valid.
func (b *Box) Route(to netip.Addr) (string, error) {
	row := func(t regs.Table, index int) []uint32 {
		words := make([]uint32, t.Words())
		copy(words, b.chips[transport.Inner].tables[t.Number][index])
		return words
	}
	version, key := 0, uint64(0)
	if to.Is4() {
		key = uint64(binary.BigEndian.Uint32(to.AsSlice())) << 32
	} else {
		version, key = 1, binary.BigEndian.Uint64(to.AsSlice()[:8])
	}
	root := row(regs.InnerTablePrefixRoot, version)
	if regs.PrefixRootRow.Valid.Get(root) == 0 {
		return "", nil
	}
	index, group := int(regs.PrefixRootRow.Node.Get(root)), uint64(0)
	for level := range 5 {
		node := row(regs.InnerTablePrefix, level<<12|index)
		if regs.PrefixRow.Valid.Get(node) == 0 {
			return "", fmt.Errorf("the way to %s leads to the node %d of level %d, which is not valid", to, index, level)
		}
		place := 0
		for place < 14 && (regs.Field{LSB: regs.PrefixRow.End0.LSB + 64*place, Width: 64}).Get(node) <= key {
			place++
		}
		if g := (regs.Field{LSB: regs.PrefixRow.Group0.LSB + 8*place, Width: 8}).Get(node); g != 0 {
			group = g
		}
		if level == 4 {
			break
		}
		child := row(regs.InnerTablePrefixChild, level<<12|index)
		if regs.PrefixChildRow.Valid.Get(child) == 0 {
			return "", fmt.Errorf("the way to %s has no children at the node %d of level %d", to, index, level)
		}
		index = int(regs.Field{LSB: regs.PrefixChildRow.Child0.LSB + 16*place, Width: 12}.Get(child))
	}
	if group == 0 {
		return "", nil
	}
	hopGroup := row(regs.InnerTableHopGroup, int(group))
	switch {
	case regs.HopGroupRow.Valid.Get(hopGroup) == 0:
		return "", fmt.Errorf("%s goes to the group %d, which is not valid", to, group)
	case regs.HopGroupRow.Connected.Get(hopGroup) == 1:
		return "connected", nil
	}
	var hops []uint64
	for n := range regs.HopGroupRow.Last.Get(hopGroup) + 1 {
		hops = append(hops, regs.Field{LSB: regs.HopGroupRow.Hop0.LSB + 8*int(n), Width: 8}.Get(hopGroup))
	}
	return fmt.Sprint(hops), nil
}
