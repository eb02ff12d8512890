// SPDX-License-Identifier: Apache-2.0

package prefixes

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// keyBits is how much of an address the tree looks at.
const keyBits = 64

// versions are the trees of a chip, in the order of the rows of `prefix_root`: IPv4, IPv6.
const versions = 2

// span is a prefix as a range of keys: those whose first `length` bits are those of start.
type span struct {
	start  uint64
	length uint8
}

func mask(length uint8) uint64 { return ^uint64(0) << (keyBits - length) }

// ends are where the span's keys begin and where they have ended. The first of all keys, and what
// follows the last one, cut nothing.
func (s span) ends() (ends []uint64) {
	for _, end := range [2]uint64{s.start, (s.start | ^mask(s.length)) + 1} {
		if end != 0 {
			ends = append(ends, end)
		}
	}
	return ends
}

// keyOf is an address as the chip compares it, and which tree it belongs to.
func keyOf(addr netip.Addr) (version int, key uint64) {
	if addr.Is4() {
		four := addr.As4()
		return 0, uint64(binary.BigEndian.Uint32(four[:])) << 32
	}
	sixteen := addr.As16()
	return 1, binary.BigEndian.Uint64(sixteen[:8])
}

// spanOf is a prefix's span. It refuses what the tree cannot hold.
func spanOf(prefix netip.Prefix) (version int, s span, err error) {
	switch {
	case !prefix.IsValid():
		return 0, s, fmt.Errorf("a prefix without address or length is none: give both")
	case prefix != prefix.Masked():
		return 0, s, fmt.Errorf("prefix %v has bits behind its length: it must be %v", prefix, prefix.Masked())
	case prefix.Bits() > keyBits:
		return 0, s, fmt.Errorf("prefix %v is longer than /%d, the limit of the chip's tree: give a shorter one",
			prefix, keyBits)
	}
	version, key := keyOf(prefix.Addr())
	return version, span{key, uint8(prefix.Bits())}, nil
}

// groups are the hop groups of the prefixes of one IP version.
type groups struct {
	of       map[span]uint8
	ofLength [keyBits + 1]int // how many have each length
}

// set gives a span a group, 0 for none, and returns the one that it had.
func (g *groups) set(s span, group uint8) (before uint8) {
	before = g.of[s]
	if before != 0 {
		g.ofLength[s.length]--
	}
	if delete(g.of, s); group != 0 {
		g.of[s] = group
		g.ofLength[s.length]++
	}
	return before
}

// covering is the group of the longest span of at least `least` bits that holds all keys from first
// to last; 0 if there is none. It makes at most 65 probes of the map, however many spans there are.
func (g *groups) covering(first, last uint64, least int) uint8 {
	for length := common(first, last); length >= least; length-- {
		if g.ofLength[length] == 0 {
			continue
		}
		if group, ok := g.of[span{first & mask(uint8(length)), uint8(length)}]; ok {
			return group
		}
	}
	return 0
}

// at is the group of a place, from..to, of a node that has the addresses first..last: that of the
// longest span that holds all of the place and not all of the node. Nothing is above the root, so
// a span that holds all of it counts there.
func (g *groups) at(level int, from, to, first, last uint64) uint8 {
	if level == 0 {
		return g.covering(from, to, 0)
	}
	return g.covering(from, to, common(first, last)+1)
}

// needs says whether a span begins or has ended at this end.
func (g *groups) needs(end uint64) bool {
	for length := keyBits - bits.TrailingZeros64(end); length <= keyBits; length++ {
		if g.ofLength[length] == 0 {
			continue
		}
		for _, start := range [2]uint64{end, (end - 1) & mask(uint8(length))} {
			if _, ok := g.of[span{start, uint8(length)}]; ok {
				return true
			}
		}
	}
	return false
}

// common is how many bits two keys share, from the highest.
func common(a, b uint64) int { return bits.LeadingZeros64(a ^ b) }
