// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// parseAddr reads an address as iproute2 does: bytes missing at the end of an IPv4 one are 0, and
// an IPv6 one has no zone.
func parseAddr(text string) (netip.Addr, bool) {
	if strings.Contains(text, ":") {
		addr, err := netip.ParseAddr(text)
		return addr, err == nil && addr.Zone() == ""
	}
	var bytes [4]byte
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return netip.Addr{}, false
		}
		bytes[i] = byte(n)
	}
	return netip.AddrFrom4(bytes), true
}

// interfacePrefix reads ADDRESS/LENGTH and keeps the host bits; a bare address is a prefix of all
// its bits.
func (p *parser) interfacePrefix(what string) (netip.Prefix, Token, error) {
	word, err := p.take(what)
	if err != nil {
		return netip.Prefix{}, word, err
	}
	prefix, err := word.interfacePrefix(what)
	return prefix, word, err
}

func (t Token) interfacePrefix(what string) (netip.Prefix, error) {
	text, length, given := strings.Cut(string(t.Text), "/")
	addr, ok := parseAddr(text)
	if !ok {
		return netip.Prefix{}, t.errorf("%s must be an IPv4 or IPv6 address, not %s", what, t.quoted())
	}
	bits := addr.BitLen()
	if given {
		if bits, ok = maskLength(length); !ok || bits > addr.BitLen() {
			return netip.Prefix{}, t.errorf("%s: the prefix length of %s must be 0 to %d", what, t.quoted(), addr.BitLen())
		}
	}
	return netip.PrefixFrom(addr, bits), nil
}

// maskLength reads a number, or an IPv4 netmask.
func maskLength(text string) (int, bool) {
	if n, ok := parseNumber(text, 8); ok {
		return int(n), true
	}
	mask, ok := parseAddr(text)
	if !ok || !mask.Is4() {
		return 0, false
	}
	ones, bits := net.IPMask(mask.AsSlice()).Size()
	return ones, bits != 0
}

// prefix reads a prefix whose host bits must be zero.
func (p *parser) prefix(what string) (netip.Prefix, error) {
	word, err := p.take(what)
	if err != nil {
		return netip.Prefix{}, err
	}
	return word.prefix(what)
}

func (t Token) prefix(what string) (netip.Prefix, error) {
	prefix, err := t.interfacePrefix(what)
	if err == nil && prefix.Masked() != prefix {
		err = t.errorf("%s %s has bits set beyond its length of %d: write %s", what, t.quoted(), prefix.Bits(), prefix.Masked())
	}
	return prefix, err
}

// address reads one address; the prefix that holds it alone is it, too.
func (p *parser) address(what string) (netip.Addr, error) {
	prefix, word, err := p.interfacePrefix(what)
	if err == nil && !prefix.IsSingleIP() {
		err = word.errorf("%s must be one address, not the prefix %s", what, word.quoted())
	}
	return prefix.Addr(), err
}
