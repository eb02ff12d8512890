// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"bytes"
	"cmp"
	"net/netip"
)

func isSelectorWord(word string) bool {
	return word == "src" || word == "dst" || word == "dev" || isUpperWord(word)
}

func isUpperWord(word string) bool {
	switch word {
	case "proto", "sport", "dport", "type", "code", "key":
		return true
	}
	return false
}

// selector reads a run of src, dst, dev and one upper-layer part. A missing side is every address
// of the other's IP version; if neither is given, both are `missing`. Selectors of policies may
// have lists of addresses, and a VRF.
func (p *parser) selector(missing netip.Prefix, lists bool) (Selector, error) {
	s := Selector{}
	upper := false
	first := p.next
	for p.more() {
		var err error
		word := p.peek()
		switch {
		case word == "src":
			var src side
			src, err = p.side(s.dst(), lists)
			s.Src, s.SrcList = src.prefix, src.list
		case word == "dst":
			var dst side
			dst, err = p.side(s.src(), lists)
			s.Dst, s.DstList = dst.prefix, dst.list
		case word == "dev":
			p.skip()
			err = p.selectorDevice(&s, lists)
		case isUpperWord(word) && !upper:
			upper = true
			err = p.upper(&s)
		case p.next == first:
			err = p.unknown()
		default:
			return s.complete(missing, p.lastPos())
		}
		if err != nil {
			return s, err
		}
	}
	if p.next == first {
		_, err := p.take("a selector")
		return s, err
	}
	return s.complete(missing, p.lastPos())
}

// side reads `src` or `dst` and what it takes, which must be of the other side's IP version if that
// has been given.
func (p *parser) side(other side, lists bool) (side, error) {
	word := p.skip()
	token, err := p.take("the prefix after " + string(word.Text))
	if err != nil {
		return side{}, err
	}
	if !lists && bytes.ContainsAny(token.Text, ",-") {
		return side{}, token.errorf("the sel of a state takes one prefix as %s, not %s: ranges and lists are for policies", word.Text, token.quoted())
	}
	this, err := token.addresses(string(word.Text))
	if err == nil && other.prefix.IsValid() && other.prefix.Addr().Is6() != this.prefix.Addr().Is6() {
		err = word.errorf("src and dst of a selector must be of one IP version, not %s and %s: write a policy or SA for each version", other, this)
	}
	return this, err
}

// selectorDevice reads the device after `dev`: a port, which says nothing, or the VRF that the
// packets of a policy are in.
func (p *parser) selectorDevice(s *Selector, policy bool) (err error) {
	switch word := p.peek(); {
	case word == "none":
		p.skip()
		s.Dev, s.VRF = "", ""
	case policy && word != "" && word != Red && word != Black:
		s.VRF, err = p.linkName("the VRF after dev")
	default:
		s.Dev, err = p.device()
	}
	return err
}

// complete fills in the missing sides. Then the IP version is known, and so are selectors that
// match no packet.
func (s Selector) complete(missing netip.Prefix, pos Pos) (Selector, error) {
	switch {
	case s.Src.IsValid() && !s.Dst.IsValid():
		s.Dst = everything(s.Src.Addr())
	case s.Dst.IsValid() && !s.Src.IsValid():
		s.Src = everything(s.Dst.Addr())
	case !s.Src.IsValid():
		s.Src, s.Dst = missing, missing
	}
	return s, cmp.Or(s.checkPossible(pos), s.checkRules(pos))
}

// checkPossible refuses a selector that contradicts itself. It accepts one whose packets all match
// other policies: strongSwan installs such, and it serves when others go. It accepts `proto icmp`
// with IPv6, because a packet may carry any number.
func (s Selector) checkPossible(pos Pos) error {
	word := "type"
	if !s.Type.Given && !s.Opaque {
		word = "code"
	}
	switch version, number := s.Version(), s.Type.Given || s.Code.Given || s.Opaque; {
	case number && s.Proto == protoICMP && version == 6:
		return Errorf(pos, "%s of icmp is of no packet in an IPv6 selector: write proto ipv6-icmp", word)
	case number && s.Proto == protoICMPv6 && version == 4:
		return Errorf(pos, "%s of ipv6-icmp is of no packet in an IPv4 selector: write src or dst as an IPv6 prefix (::/0 is any)", word)
	case number && s.Proto == protoMobility && version == 4:
		return Errorf(pos, "type of protocol 135 is of no packet in an IPv4 selector: write src or dst as an IPv6 prefix (::/0 is any)")
	case version == 6 && s.Proto == protoFragment:
		return s.errExtension(pos)
	}
	return nil
}

func (s Selector) errExtension(pos Pos) error {
	return Errorf(pos, "proto %d is of no packet in an IPv6 selector: it is an extension header, and the protocol is what follows those", s.Proto)
}

// CheckExtensions refuses a selector of packets whose protocol is an extension header that the
// chips skip.
func (s Selector) CheckExtensions(skipped ExtensionHeaders, pos Pos) error {
	if s.Version() == 6 && skipped.Has(s.Proto) {
		return s.errExtension(pos)
	}
	return nil
}

// upper reads proto with sport and dport, or with type and code.
func (p *parser) upper(s *Selector) (err error) {
	var ports, types, codes, opaque *Token
	for isUpperWord(p.peek()) {
		word := p.skip()
		switch text := string(word.Text); text {
		case "proto":
			s.Proto, err = p.upperProtocol()
		case "sport":
			ports = &word
			s.SPort, err = p.port(text, &opaque)
		case "dport":
			ports = &word
			s.DPort, err = p.port(text, &opaque)
		case "type":
			types = &word
			s.Type, err = p.orOpaque("number", text, 8, &opaque)
		case "code":
			types, codes = &word, &word
			s.Code, err = p.orOpaque("number", text, 8, &opaque)
		default:
			err = word.refuse("the chips do not look at GRE keys")
		}
		if err != nil {
			return err
		}
	}
	switch {
	case codes != nil && s.Proto != protoICMP && s.Proto != protoICMPv6:
		return codes.errorf("code needs proto icmp or ipv6-icmp: other packets have none")
	case types != nil && s.Proto != protoICMP && s.Proto != protoICMPv6 && s.Proto != protoMobility:
		return types.errorf("type needs proto icmp, ipv6-icmp or mobility-header: other packets have none")
	case ports != nil && s.Proto != 0 && !HasPorts(s.Proto):
		return ports.errorf("%s needs proto tcp, udp or sctp: the chips find no ports in protocol %s", ports.Text, protocolName(s.Proto))
	case opaque != nil && s.numbered():
		return opaque.errorf("%s opaque beside a number is of no packet: where one cannot be read, neither can the other", opaque.Text)
	}
	s.Opaque = opaque != nil
	return nil
}

// orOpaque reads numbers, or `opaque`, which iproute2 does not have, and notes the word that it
// stands behind.
func (p *parser) orOpaque(what, word string, bits int, opaque **Token) (Range, error) {
	if p.peek() != opaqueWord {
		return p.numbers(what, word, bits)
	}
	*opaque = &p.words[p.next-1]
	p.skip()
	return Range{}, nil
}

// port reads a port, with 0 for any as in iproute2, a range of ports, or `opaque`.
func (p *parser) port(word string, opaque **Token) (Range, error) {
	ports, err := p.orOpaque("port", word, 16, opaque)
	if ports == One(0) && !bytes.ContainsRune(p.words[p.next-1].Text, '-') {
		ports = Range{}
	}
	return ports, err
}

func (p *parser) upperProtocol() (uint8, error) {
	word, err := p.take("the protocol after proto")
	if err != nil {
		return 0, err
	}
	text := string(word.Text)
	if text == "any" {
		return 0, nil
	}
	if number, ok := protocolByName(text); ok {
		return number, nil
	}
	n, ok := parseNumber(text, 8)
	if !ok {
		return 0, word.errorf("unknown protocol %s", word.quoted())
	}
	return uint8(n), nil
}
