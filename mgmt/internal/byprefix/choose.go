// SPDX-License-Identifier: Apache-2.0

package byprefix

import (
	"iter"
	"math"
	"net/netip"

	"go4.org/netipx"

	"sallyport/mgmt/internal/xfrm"
)

// mostOf is how many policies of one destination go by prefix.
const mostOf = 2

// nets are destinations whose policies a change may concern.
type nets map[netip.Prefix]bool

// choose has the policies of some destinations stand where they are to. Of one destination the
// third is looked at, too: it may have been the second.
func (x *Index) choose(of nets) {
	for dst := range of {
		innermost := !x.holds(dst)
		for i, p := range x.first(dst) {
			x.move(p, innermost && i < mostOf && !x.blocked(p))
		}
	}
}

// first are the first policies of a destination that fit, in the order of the SPD.
func (x *Index) first(dst netip.Prefix) (out []*Policy) {
	x.fits.Ascend(&Policy{Selector: xfrm.Selector{Dst: dst}}, func(p *Policy) bool {
		if p.Dst == dst {
			out = append(out, p)
		}
		return p.Dst == dst && len(out) <= mostOf
	})
	return out
}

// holds says whether a policy that fits has a destination strictly inside another one.
func (x *Index) holds(dst netip.Prefix) (is bool) {
	behind := &Policy{Selector: xfrm.Selector{Dst: dst}, Priority: math.MaxUint32, Age: math.MaxUint64}
	x.fits.Ascend(behind, func(p *Policy) bool {
		is = xfrm.Within(dst, p.Dst)
		return false
	})
	return is
}

// outside gives the destinations of policies that fit which strictly hold a prefix, the longest
// first.
func (x *Index) outside(dst netip.Prefix) iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		for bits := min(dst.Bits()-1, longest); bits >= 0; bits-- {
			if x.lengths[version(dst)][bits] == 0 {
				continue
			}
			around, _ := dst.Addr().Prefix(bits) // has so many bits
			there := false
			x.fits.Ascend(&Policy{Selector: xfrm.Selector{Dst: around}}, func(p *Policy) bool {
				there = p.Dst == around
				return false
			})
			if there && !yield(around) {
				return
			}
		}
	}
}

// blocked says whether an older policy of the same priority shares a packet with one that fits, and
// the chip would not ask it first. Those inside its own destination do not fit, if it is innermost.
func (x *Index) blocked(p *Policy) (is bool) {
	x.ranks.Ascend(ranked{other, &Policy{Priority: p.Priority}}, func(q ranked) bool {
		is = q.stand == other && q.earlierEqual(p)
		return !is && q.stand == other && q.Priority == p.Priority
	})
	older := func(dst netip.Prefix) bool {
		x.fits.Ascend(&Policy{Selector: xfrm.Selector{Dst: dst}, Priority: p.Priority}, func(q *Policy) bool {
			if q.Dst != dst || q.Priority != p.Priority || q.Age >= p.Age {
				return false
			}
			is = q.earlierEqual(p) && !(dst == p.Dst && x.Has(q.Place))
			return !is
		})
		return is
	}
	if is || older(p.Dst) {
		return true
	}
	for dst := range x.outside(p.Dst) {
		if older(dst) {
			return true
		}
	}
	return false
}

// around are a policy's own destination, if it fits, and the next one outside: the one policy may
// have been innermost, or may become so. All further ones hold that next one in any case.
func (x *Index) around(p *Policy) nets {
	out := nets{}
	if p.Fits() {
		out[p.Dst] = true
	}
	for dst := range x.outside(p.Dst) {
		out[dst] = true
		break
	}
	return out
}

// younger adds the destinations of those policies inside the policy's own one that it comes before
// at the same priority: of rules when it goes, and of those by prefix when it comes.
func (x *Index) younger(at stand, p *Policy, met nets) nets {
	last := netipx.PrefixLastIP(p.Dst)
	x.ranks.Ascend(ranked{at, &Policy{Selector: xfrm.Selector{Dst: p.Dst}, Priority: p.Priority}}, func(q ranked) bool {
		if q.stand != at || q.Priority != p.Priority || last.Less(q.Dst.Addr()) {
			return false
		}
		if p.earlierEqual(q.Policy) {
			met[q.Dst] = true
		}
		return true
	})
	return met
}
