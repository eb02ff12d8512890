// SPDX-License-Identifier: Apache-2.0

// Package byprefix says which out policies the inner chip finds by the prefix of a packet's
// destination, in its table `prefix_policy`. All other out policies that are no flow are ternary
// rules, and the chip has few of those.
//
// The choice follows from the SPD alone: a change that looks at a part, a computation of everything
// and a daemon that starts anew all make the same one. A policy P goes by prefix if
//
//  1. it looks at nothing but one prefix of the source and one of the destination, of at most 64
//     bits, and its destinations are no groups ([Policy.Fits]);
//  2. no other policy that fits has a destination strictly inside that of P;
//  3. at most one policy that fits has the same destination and comes before P in the SPD;
//  4. no older policy of the same priority shares a packet with P, except flows and one of the same
//     destination that goes by prefix itself.
//
// Then the chip finds what a search through the SPD finds first. The chip takes a flow, a row by
// prefix and a rule that match, and of these the one of the lowest priority number; at equality the
// flow, then the row by prefix.
//
//   - By 2 and 3, destinations that go by prefix do not hold each other. So the policies by prefix
//     that match a packet all have one destination, and there are at most two. The tree names the
//     first of them in the SPD, and that row names the second. The chip takes the second where the
//     source of the first does not match, so it takes the first that matches.
//   - The rule that the chip takes is the first of all rules that match (package plan).
//   - Of the three, the lowest priority number is the first in the SPD. At equality the flow comes
//     first in the SPD of this box (model.OutPolicy). By 4, a row by prefix is older than a rule of
//     the same priority for the same packet.
//
// So of nested destinations the innermost go by prefix, and what holds them is rules: a site's
// networks are many, and the aggregates and defaults around them few.
package byprefix

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// Policy is what the choice looks at of an out policy that is no flow.
type Policy struct {
	xfrm.Selector
	Priority uint32
	Age      uint64
	Place    uint64 // in the order of the SPD's policies, by which callers know it
	// OneRow says that its decision is one row, whatever SAs there are.
	OneRow bool
}

// longest is the longest prefix that a tree of the chip holds.
const longest = 64

// Fits says whether a policy looks at no more than a row by prefix does.
func (p *Policy) Fits() bool {
	s := p.Selector
	plain := s.Proto == 0 && !s.Opaque && !s.SPort.Given && !s.DPort.Given && !s.Type.Given && !s.Code.Given && !s.Listed()
	short := s.Dst.Addr().Is4() || s.Src.Bits() <= longest && s.Dst.Bits() <= longest
	return p.OneRow && plain && s.Src.IsValid() && s.Dst.IsValid() && short && !s.ToGroups()
}

// earlierEqual says whether a policy is asked before another one of the same priority, for a packet
// of both.
func (p *Policy) earlierEqual(q *Policy) bool {
	return p.Priority == q.Priority && p.Age < q.Age && p.Overlaps(q.Selector)
}

// compareNets orders prefixes so that those inside another one follow it.
func compareNets(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
