// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// side is src or dst of a selector: a prefix, or what a list says, which lies in the prefix. The
// zero prefix is any address.
type side struct {
	prefix netip.Prefix
	list   AddressList
}

func (s Selector) src() side { return side{s.Src, s.SrcList} }
func (s Selector) dst() side { return side{s.Dst, s.DstList} }

// sideOf is the one side of just the addresses of a set, which is not empty. Beside a list stands
// the longest prefix around all of it.
func sideOf(set *netipx.IPSet) side {
	ranges := set.Ranges()
	if prefix, ok := ranges[0].Prefix(); ok && len(ranges) == 1 {
		return side{prefix: prefix}
	}
	var texts []string
	for _, r := range ranges {
		texts = append(texts, rangeText(r))
	}
	first, last := ranges[0].From(), ranges[len(ranges)-1].To()
	around := netip.PrefixFrom(first, first.BitLen())
	for !around.Contains(last) {
		around = netip.PrefixFrom(first, around.Bits()-1).Masked()
	}
	return side{around, AddressList(strings.Join(texts, ","))}
}

func (a side) String() string {
	if a.list != "" {
		return string(a.list)
	}
	return PrefixText(a.prefix)
}

// prefixes are the fewest that cover a side, each address once.
func (a side) prefixes() []netip.Prefix {
	if a.list == "" {
		return []netip.Prefix{a.prefix}
	}
	return a.list.set().Prefixes()
}

func (a side) contains(addr netip.Addr) bool {
	return a.prefix.Contains(addr) && (a.list == "" || a.list.set().Contains(addr))
}

// covers says whether every address of b is one of a.
func (a side) covers(b side) bool {
	if a.list == "" || !Within(a.prefix, b.prefix) {
		return Within(a.prefix, b.prefix)
	}
	set := a.list.set()
	for _, prefix := range b.prefixes() {
		if !set.ContainsPrefix(prefix) {
			return false
		}
	}
	return true
}

// overlaps says whether some address is in both.
func (a side) overlaps(b side) bool {
	switch {
	case !a.prefix.Overlaps(b.prefix):
		return false
	case a.list == "" && b.list == "":
		return true
	case a.list == "":
		return b.list.set().OverlapsPrefix(a.prefix)
	case b.list == "":
		return a.list.set().OverlapsPrefix(b.prefix)
	}
	return a.list.set().Overlaps(b.list.set())
}

// Listed says whether a side is not one prefix.
func (s Selector) Listed() bool { return s.SrcList != "" || s.DstList != "" }

// ByDst cuts a selector into those of one prefix each as dst. Groups among other destinations are
// none of its packets'.
func (s Selector) ByDst() (out []Selector) {
	groups := s.ToGroups()
	for _, prefix := range s.dst().prefixes() {
		if ofGroups(prefix) && !groups {
			continue
		}
		part := s
		part.Dst, part.DstList = prefix, ""
		out = append(out, part)
	}
	return out
}

// Parts cuts a selector into those of one prefix a side: each packet of it belongs to just one
// of them.
func (s Selector) Parts() (out []Selector) {
	sources := s.src().prefixes()
	for _, part := range s.ByDst() {
		for _, prefix := range sources {
			part.Src, part.SrcList = prefix, ""
			out = append(out, part)
		}
	}
	return out
}

// checkRules refuses a selector that is more rules than any policy may be.
func (s Selector) checkRules(pos Pos) error {
	rules := 1
	for _, n := range []int{len(s.src().prefixes()), len(s.dst().prefixes()), len(s.SPort.Blocks()), len(s.DPort.Blocks())} {
		rules *= n
	}
	if rules > MaxPolicyRules {
		return Errorf(pos, "the selector takes %d rules, one for each prefix and block of ports with each, and a policy may have %d: write it as several policies", rules, MaxPolicyRules)
	}
	return nil
}
