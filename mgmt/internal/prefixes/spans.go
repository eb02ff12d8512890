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

// The trees of a chip, in the order of the rows of `prefix_root`: of each network those of routes
// for IPv4 and IPv6, and those of policies.
const (
	versions = 2
	// LastNetwork is the highest number of a network.
	LastNetwork = 63
	networks    = LastNetwork + 1
	// Roots are the rows of `prefix_root` of the inner chip.
	Roots = networks * int(kinds) * versions
)

// span is a prefix as a range of keys: those whose first `length` bits are those of start.
type span struct {
	start  uint64
	length uint8
}

// prefix is the span in addresses of a version.
func (s span) prefix(version int) netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], s.start)
	addr := netip.AddrFrom16(b)
	if version == 0 {
		addr = netip.AddrFrom4([4]byte(b[:4]))
	}
	return netip.PrefixFrom(addr, int(s.length))
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

// Key is an address as the chip compares it with prefixes.
func Key(addr netip.Addr) uint64 {
	_, key := keyOf(addr)
	return key
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

// leads are the rows that the prefixes of one tree lead to.
type leads struct {
	to       map[span]uint16
	ofLength [keyBits + 1]int // how many have each length
}

// set leads a span to a row, 0 for none, and returns the one that it had.
func (l *leads) set(s span, row uint16) (before uint16) {
	before = l.to[s]
	if before != 0 {
		l.ofLength[s.length]--
	}
	if delete(l.to, s); row != 0 {
		l.to[s] = row
		l.ofLength[s.length]++
	}
	return before
}

// covering is the row of the longest span of at least `least` bits that holds all keys from first
// to last; 0 if there is none. It makes at most 65 probes of the map, however many spans there are.
func (l *leads) covering(first, last uint64, least int) uint16 {
	for length := common(first, last); length >= least; length-- {
		if l.ofLength[length] == 0 {
			continue
		}
		if row, ok := l.to[span{first & mask(uint8(length)), uint8(length)}]; ok {
			return row
		}
	}
	return 0
}

// policy is the row of `prefix_policy` of a place, from..to: that of the longest span around it.
func (l *leads) policy(from, to uint64) uint16 {
	if row := l.covering(from, to, 0); row != Cut {
		return row
	}
	return 0
}

// group is that of a place, from..to, of a node that has the addresses first..last: that of the
// longest span that holds all of the place and not all of the node. Nothing is above the root,
// which has all addresses, so a span that holds all of it counts there.
func (l *leads) group(from, to, first, last uint64) uint8 {
	least := 0
	if first > 0 || last < ^uint64(0) {
		least = common(first, last) + 1
	}
	return uint8(l.covering(from, to, least))
}

// sets gives a place, from..to, of a node what the spans say: a group, or, of policies, the row to
// which the place of a leaf leads.
func (n *node) sets(l *leads, kind Kind, level, place int, first, last uint64) {
	from, to := n.bounds(place, first, last)
	switch {
	case kind.of() == Routes:
		n.group[place] = l.group(from, to, first, last)
	case level == leaf:
		n.child[place] = l.policy(from, to)
	}
}

// needs says whether a span begins or has ended at this end.
func (l *leads) needs(end uint64) bool {
	for length := keyBits - bits.TrailingZeros64(end); length <= keyBits; length++ {
		if l.ofLength[length] == 0 {
			continue
		}
		for _, start := range [2]uint64{end, (end - 1) & mask(uint8(length))} {
			if _, ok := l.to[span{start, uint8(length)}]; ok {
				return true
			}
		}
	}
	return false
}

// common is how many bits two keys share, from the highest.
func common(a, b uint64) int { return bits.LeadingZeros64(a ^ b) }
