// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Selector selects packets of one IP version; the zero protocol is any. If both prefixes are zero,
// it selects any address of both versions, as filters of lists and some joined selectors do.
type Selector struct {
	Src netip.Prefix `json:"src"`
	Dst netip.Prefix `json:"dst"`
	// SrcList and DstList say which addresses of Src and Dst alone; empty: all of them. Only those
	// of policies are not.
	SrcList AddressList `json:"src_list,omitempty"`
	DstList AddressList `json:"dst_list,omitempty"`
	Proto   uint8       `json:"proto,omitempty"`
	SPort   Range       `json:"sport,omitzero"`
	DPort   Range       `json:"dport,omitzero"`
	Type    Range       `json:"type,omitzero"`
	Code    Range       `json:"code,omitzero"`
	// Opaque: packets alone in which there is neither port nor type to read (RFC 4301, 4.4.1.1).
	// Then none of the four ranges is given.
	Opaque bool   `json:"opaque,omitempty"`
	Dev    string `json:"dev,omitempty"`
	// VRF is the network of the packets, of a policy in a VRF. It is `dev` too, where a port may
	// stand instead, which says nothing. Selectors of two VRFs have no packet in common.
	VRF string `json:"vrf,omitempty"`
}

// The prefixes that hold every address of an IP version.
var (
	Everything  = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	Everything6 = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
)

// everything gives that prefix of an address's version.
func everything(addr netip.Addr) netip.Prefix {
	if addr.Is6() {
		return Everything6
	}
	return Everything
}

// Version is 4 or 6, or 0 for both.
func (s Selector) Version() uint8 {
	switch {
	case s.Src.Addr().Is4():
		return 4
	case s.Src.Addr().Is6():
		return 6
	}
	return 0
}

// PrefixText prints a prefix, the zero one as any.
func PrefixText(p netip.Prefix) string {
	if !p.IsValid() {
		return "any"
	}
	return p.String()
}

// opaqueWord stands for a port, type or code that no lookup can read.
const opaqueWord = "opaque"

// Word is a word of a selector and the value behind it.
type Word struct{ Name, Value string }

// String prints as iproute2 does, and ranges as they are written.
func (s Selector) String() string {
	var out []string
	for _, w := range s.Words() {
		out = append(out, w.Name+" "+w.Value)
	}
	return strings.Join(out, " ")
}

// Words are those that String prints, in their order.
func (s Selector) Words() []Word {
	out := []Word{{"src", s.src().String()}, {"dst", s.dst().String()}}
	if s.Proto != 0 {
		out = append(out, Word{"proto", protocolName(s.Proto)})
	}
	for _, part := range []struct {
		name  string
		value Range
		port  bool
	}{{"sport", s.SPort, true}, {"dport", s.DPort, true}, {"type", s.Type, false}, {"code", s.Code, false}} {
		if part.value.Given {
			out = append(out, Word{part.name, part.value.text(part.port)})
		}
	}
	switch {
	case s.Opaque && (s.Proto == protoICMP || s.Proto == protoICMPv6):
		out = append(out, Word{"type", opaqueWord}, Word{"code", opaqueWord})
	case s.Opaque && s.Proto == protoMobility:
		out = append(out, Word{"type", opaqueWord})
	case s.Opaque:
		out = append(out, Word{"sport", opaqueWord}, Word{"dport", opaqueWord})
	}
	if dev := cmp.Or(s.VRF, s.Dev); dev != "" {
		out = append(out, Word{"dev", dev})
	}
	return out
}

// Within says whether every address of inner is one of outer.
func Within(outer, inner netip.Prefix) bool {
	return !outer.IsValid() || outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// holds says whether a protocol is another, or any.
func holds(outer, inner uint8) bool { return outer == 0 || outer == inner }

// groups are the destinations that are no single host: multicast, and IPv4's limited broadcast.
var groups = []netip.Prefix{netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"), netip.MustParsePrefix("ff00::/8")}

// ofGroups says whether a prefix has groups alone.
func ofGroups(p netip.Prefix) bool {
	return p.IsValid() && slices.ContainsFunc(groups, func(group netip.Prefix) bool { return Within(group, p) })
}

// ToGroups says whether the selector's packets are those to groups. Of a selector that has other
// destinations too, none are: a group has to be selected as such.
func (s Selector) ToGroups() bool {
	if s.DstList == "" {
		return ofGroups(s.Dst)
	}
	return !slices.ContainsFunc(s.dst().prefixes(), func(p netip.Prefix) bool { return !ofGroups(p) })
}

// Covers says whether every packet of inner is one of s.
func (s Selector) Covers(inner Selector) bool {
	return s.ToGroups() == inner.ToGroups() && s.Holds(inner)
}

// Holds says whether every address, protocol and number of inner is one of s, in the same VRF.
func (s Selector) Holds(inner Selector) bool {
	return s.VRF == inner.VRF && s.src().covers(inner.src()) && s.dst().covers(inner.dst()) && holds(s.Proto, inner.Proto) && (inner.Opaque || !s.Opaque) &&
		s.SPort.Covers(inner.SPort) && s.DPort.Covers(inner.DPort) && s.Type.Covers(inner.Type) && s.Code.Covers(inner.Code)
}

// numbered says whether all packets of a selector have ports, or a type and code.
func (s Selector) numbered() bool {
	return s.SPort.Given || s.DPort.Given || s.Type.Given || s.Code.Given
}

// Overlaps says whether some packet may be of both selectors, which have prefixes; those of two IP
// versions have none in common.
func (s Selector) Overlaps(o Selector) bool {
	return s.VRF == o.VRF && s.ToGroups() == o.ToGroups() && s.src().overlaps(o.src()) && s.dst().overlaps(o.dst()) && (holds(s.Proto, o.Proto) || holds(o.Proto, s.Proto)) &&
		!(s.Opaque && o.numbered()) && !(o.Opaque && s.numbered()) &&
		s.SPort.meets(o.SPort) && s.DPort.meets(o.DPort) && s.Type.meets(o.Type) && s.Code.meets(o.Code)
}

// Join gives the selector of exactly the packets of both, if there is one. There is one if they are
// the same, or differ only in the IP version whose every address they take.
func (s Selector) Join(o Selector) (Selector, bool) {
	anyVersion := func(s Selector) Selector {
		if s.Src.Bits() == 0 && s.Dst.Bits() == 0 {
			s.Src, s.Dst = netip.Prefix{}, netip.Prefix{}
		}
		return s
	}
	if s == o {
		return s, true
	}
	return anyVersion(s), anyVersion(s) == anyVersion(o)
}
