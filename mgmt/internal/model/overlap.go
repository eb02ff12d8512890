// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"

	"go4.org/netipx"

	"sallyport/mgmt/internal/xfrm"
)

// shape is how long the prefixes of a selector are. Of a list of addresses that is the prefix
// around it.
type shape struct {
	version  uint8
	src, dst int
}

func shapeOf(s xfrm.Selector) shape { return shape{s.Version(), s.Src.Bits(), s.Dst.Bits()} }

// shaped is a policy by its shape and its prefixes.
type shaped struct {
	shape
	from, to netip.Addr
	place    uint64
	p        *Policy
}

func shapedOf(p *Policy) shaped {
	return shaped{shapeOf(p.Selector), p.Src.Masked().Addr(), p.Dst.Masked().Addr(), p.place, p}
}

func (a shaped) compare(b shaped) int {
	return cmp.Or(
		cmp.Compare(a.version, b.version), cmp.Compare(a.shape.src, b.shape.src), cmp.Compare(a.shape.dst, b.shape.dst),
		a.to.Compare(b.to), a.from.Compare(b.from), cmp.Compare(a.place, b.place),
	)
}

// Overlapping gives the in and fwd policies that share a packet with a selector until yield is
// false. It looks at those of a shape that lie in the selector's prefixes, or around them.
func (s *Policies) Overlapping(sel xfrm.Selector, yield func(*Policy) bool) {
	own, more := shapeOf(sel), true
	for h := range s.shapes {
		if !more || h.version != own.version {
			continue
		}
		first, last := within(sel.Dst, h.dst)
		from, until := within(sel.Src, h.src)
		s.in.Ascend(shaped{shape: h, from: from, to: first}, func(e shaped) bool {
			switch {
			case e.shape != h || last.Less(e.to) || first == last && until.Less(e.from):
				return false
			case e.p.Overlaps(sel):
				more = yield(e.p)
			}
			return more
		})
	}
}

// within is the first and the last network of so many bits that shares an address with a prefix.
func within(p netip.Prefix, bits int) (first, last netip.Addr) {
	if !p.IsValid() {
		return netip.Addr{}, netip.Addr{}
	}
	low, _ := p.Addr().Prefix(min(bits, p.Bits()))
	high, _ := netipx.PrefixLastIP(p).Prefix(bits)
	return low.Addr(), high.Addr()
}
