// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"net/netip"
	"strings"
)

// id reads a run of src, dst, proto and spi.
func (p *parser) id() (ID, error) {
	f := StateFilter{}
	err := p.idWords(&f, false)
	return f.ID(), err
}

// idWords reads the same into a filter, whose addresses may be prefixes.
func (p *parser) idWords(f *StateFilter, prefixes bool) (err error) {
	for err == nil && isIDWord(p.peek()) {
		switch p.peek() {
		case "src":
			f.Src, err = p.end(f.Dst, prefixes)
		case "dst":
			f.Dst, err = p.end(f.Src, prefixes)
		case "proto":
			p.skip()
			f.Proto, err = p.ipsecProtocol()
		default:
			p.skip()
			f.SPI, err = p.number32("the SPI")
		}
	}
	return err
}

func isIDWord(word string) bool {
	return word == "src" || word == "dst" || word == "proto" || word == "spi"
}

// end reads an end of a tunnel. It must have the other end's IP version, if that is given, because
// both are in one outer header.
func (p *parser) end(other netip.Prefix, prefixes bool) (end netip.Prefix, err error) {
	word := p.skip()
	what := "the address after " + string(word.Text)
	if prefixes {
		end, _, err = p.interfacePrefix(what)
	} else {
		var addr netip.Addr
		addr, err = p.address(what)
		end = netip.PrefixFrom(addr, addr.BitLen())
	}
	if err == nil && other.IsValid() && other.Addr().Is6() != end.Addr().Is6() {
		err = word.errorf("src and dst of an SA must be of one IP version, that of its outer header, not %s and %s", other.Addr(), end.Addr())
	}
	return end, err
}

func (p *parser) ipsecProtocol() (string, error) {
	word, err := p.take("the protocol")
	if err != nil {
		return "", err
	}
	switch string(word.Text) {
	case "esp":
		return "esp", nil
	case "ah", "comp", "route2", "hao", "ipsec-any":
		return "", word.errorf("proto %s is not supported: only esp is", word.Text)
	}
	return "", word.errorf("proto must be esp, not %s", word.quoted())
}

// MaxName is the length of the longest name in bytes.
const MaxName = 128

// notInNames are visible characters that words of a batch file cannot have.
const notInNames = "\"'#\\"

// ValidName says whether an SA or a policy can have a name: 1 to 128 visible ASCII characters, and
// none of the four that have a meaning in batch files.
func ValidName(name string) bool {
	outside := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(notInNames, r) }
	return name != "" && len(name) <= MaxName && !strings.ContainsFunc(name, outside)
}

// name reads `name NAME`, which iproute2 does not have: what a controller calls an SA or a policy.
// The box keeps it and looks for nothing by it.
func (p *parser) name() (string, error) {
	p.skip()
	word, err := p.take("the name")
	if err != nil {
		return "", err
	}
	if name := string(word.Text); ValidName(name) {
		return name, nil
	}
	return "", word.errorf("a name has 1 to %d visible ASCII characters other than %s, unlike %s", MaxName, notInNames, word.quoted())
}
