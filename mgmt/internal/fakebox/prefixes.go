// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// trees are the tables of a chip's trees.
type trees struct {
	chip                     transport.Chip
	node, child, root, group regs.Table
}

var treesOf = map[transport.Chip]trees{
	transport.Inner: {transport.Inner, regs.InnerTablePrefix, regs.InnerTablePrefixChild, regs.InnerTablePrefixRoot, regs.InnerTableHopGroup},
	transport.Outer: {transport.Outer, regs.OuterTableBlackPrefix, regs.OuterTableBlackPrefixChild, regs.OuterTableBlackPrefixRoot, regs.OuterTableBlackHopGroup},
}

// Route is where a chip's tree of prefixes leads a packet to: "connected", its next-hop rows in
// their order, or "" if no prefix holds the address. It follows the rows as regs/rows.rdl has them,
// and fails on a way that leads to a row that is not valid.
func (b *Box) Route(c transport.Chip, to netip.Addr) (string, error) { return b.RouteIn(c, 0, to) }

// RouteIn is the same of a packet in a network.
func (b *Box) RouteIn(c transport.Chip, network int, to netip.Addr) (string, error) {
	t := treesOf[c]
	group, _, err := b.walk(t, treesPerNetwork*network, 4, to)
	if err != nil {
		return "", err
	}
	if group == 0 {
		return "", nil
	}
	hopGroup := b.row(c, t.group, int(group))
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

// treesPerNetwork are the roots of a network: of routes and of policies, for IPv4 and IPv6.
const treesPerNetwork = 4

// Named is the row of `prefix_policy` that decides on a packet of a network, or nil. Packets to
// groups have none.
func (b *Box) Named(network int, from, to netip.Addr) ([]uint32, error) {
	if to.IsMulticast() || to == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return nil, nil
	}
	_, number, err := b.walk(treesOf[transport.Inner], treesPerNetwork*network+2, 5, to)
	if err != nil || number == 0 {
		return nil, err
	}
	f := regs.PrefixPolicyRow
	_, source := keyOf(from)
	for range 2 {
		row := b.row(transport.Inner, regs.InnerTablePrefixPolicy, int(number))
		if f.Valid.Get(row) == 0 {
			return nil, fmt.Errorf("the way to %s leads to the policy %d, which is not valid", to, number)
		}
		if shift := 64 - f.SrcLength.Get(row); (source^f.SrcPrefix.Get(row))>>shift == 0 {
			return row, nil
		}
		if number = f.Next.Get(row); number == 0 {
			break
		}
	}
	return nil, nil
}

// row is a row of a chip in all its words.
func (b *Box) row(c transport.Chip, t regs.Table, index int) []uint32 {
	words := make([]uint32, t.Words())
	copy(words, b.chips[c].tables[t.Number][index])
	return words
}

// keyOf is an IP version's number, and how the chip compares an address with prefixes.
func keyOf(addr netip.Addr) (version int, key uint64) {
	if addr.Is4() {
		return 0, uint64(binary.BigEndian.Uint32(addr.AsSlice())) << 32
	}
	return 1, binary.BigEndian.Uint64(addr.AsSlice()[:8])
}

// walk follows a tree from the root of IPv4, or the one behind it, through nodes down to level 4;
// so many levels have children. It gives the last group, and where the last children lead.
func (b *Box) walk(t trees, root, children int, to netip.Addr) (group, child uint64, err error) {
	version, key := keyOf(to)
	start := b.row(t.chip, t.root, root+version)
	if regs.PrefixRootRow.Valid.Get(start) == 0 {
		return 0, 0, nil
	}
	index := int(regs.PrefixRootRow.Node.Get(start))
	for level := int(regs.PrefixRootRow.Start.Get(start)); level < 5; level++ {
		node := b.row(t.chip, t.node, level<<12|index)
		if regs.PrefixRow.Valid.Get(node) == 0 {
			return 0, 0, fmt.Errorf("the way to %s leads to the node %d of level %d, which is not valid", to, index, level)
		}
		place := 0
		for place < 14 && (regs.Field{LSB: regs.PrefixRow.End0.LSB + 64*place, Width: 64}).Get(node) <= key {
			place++
		}
		if g := (regs.Field{LSB: regs.PrefixRow.Group0.LSB + 8*place, Width: 8}).Get(node); g != 0 {
			group = g
		}
		if level == children {
			break
		}
		below := b.row(t.chip, t.child, level<<12|index)
		if regs.PrefixChildRow.Valid.Get(below) == 0 {
			return 0, 0, fmt.Errorf("the way to %s has no children at the node %d of level %d", to, index, level)
		}
		child = regs.Field{LSB: regs.PrefixChildRow.Child0.LSB + 16*place, Width: 14}.Get(below)
		index = int(child)
	}
	return group, child, nil
}
