package xfrm

import "net/netip"

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

// selector reads a run of src, dst, dev and one upper-layer part. A side that is not given is every address of the other's
// IP version; if neither is, both are `missing`.
func (p *parser) selector(missing netip.Prefix) (Selector, error) {
	s := Selector{}
	upper := false
	first := p.next
	for p.more() {
		var err error
		word := p.peek()
		switch {
		case word == "src":
			s.Src, err = p.side(s.Dst)
		case word == "dst":
			s.Dst, err = p.side(s.Src)
		case word == "dev":
			p.skip()
			s.Dev, err = p.selectorDevice()
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

// side reads `src PREFIX` or `dst PREFIX`, which must be of the other side's IP version if that has been given.
func (p *parser) side(other netip.Prefix) (netip.Prefix, error) {
	word := p.skip()
	prefix, err := p.prefix("the prefix after " + string(word.Text))
	if err == nil && other.IsValid() && other.Addr().Is6() != prefix.Addr().Is6() {
		err = word.errorf("src and dst of a selector must be of one IP version, not %s and %s: write a policy or SA for each version", other, prefix)
	}
	return prefix, err
}

func (p *parser) selectorDevice() (string, error) {
	if p.peek() == "none" {
		p.skip()
		return "", nil
	}
	return p.device()
}

// complete fills in the sides that were not given. Now that the IP version is known, so is whether a type or code can be.
func (s Selector) complete(missing netip.Prefix, pos Pos) (Selector, error) {
	switch {
	case s.Src.IsValid() && !s.Dst.IsValid():
		s.Dst = everything(s.Src.Addr())
	case s.Dst.IsValid() && !s.Src.IsValid():
		s.Src = everything(s.Dst.Addr())
	case !s.Src.IsValid():
		s.Src, s.Dst = missing, missing
	}
	return s, s.checkICMP(pos)
}

func (s Selector) checkICMP(pos Pos) error {
	word := "type"
	if !s.Type.Given {
		word = "code"
	}
	switch version := s.Version(); {
	case !s.Type.Given && !s.Code.Given:
		return nil
	case s.Proto != protoICMP && s.Proto != protoICMPv6:
		return Errorf(pos, "%s needs proto icmp or ipv6-icmp: other packets have none", word)
	case s.Proto == protoICMP && version == 6:
		return Errorf(pos, "%s of icmp is of no packet in an IPv6 selector: write proto ipv6-icmp", word)
	case s.Proto == protoICMPv6 && version == 4:
		return Errorf(pos, "%s of ipv6-icmp is of no packet in an IPv4 selector: write src or dst as an IPv6 prefix (::/0 is any)", word)
	}
	return nil
}

// upper reads proto with sport and dport, or with type and code.
func (p *parser) upper(s *Selector) (err error) {
	var ports *Token
	for isUpperWord(p.peek()) {
		word := p.skip()
		switch string(word.Text) {
		case "proto":
			s.Proto, err = p.upperProtocol()
		case "sport":
			ports = &word
			s.SPort, err = p.port("the port after sport")
		case "dport":
			ports = &word
			s.DPort, err = p.port("the port after dport")
		case "type":
			s.Type, err = p.icmpNumber("the number after type")
		case "code":
			s.Code, err = p.icmpNumber("the number after code")
		default:
			err = word.refuse("the chips do not look at GRE keys")
		}
		if err != nil {
			return err
		}
	}
	return checkPorts(ports, s)
}

func (p *parser) port(what string) (uint16, error) {
	n, err := p.number(what, 16)
	return uint16(n), err
}

func (p *parser) icmpNumber(what string) (ICMPNumber, error) {
	n, err := p.number(what, 8)
	return ICMPNumber{true, uint8(n)}, err
}

func checkPorts(ports *Token, s *Selector) error {
	if ports == nil || s.Proto == 0 || HasPorts(s.Proto) || s.SPort == 0 && s.DPort == 0 {
		return nil
	}
	return ports.errorf("%s needs proto tcp, udp or sctp: the chips find no ports in protocol %s", ports.Text, protocolName(s.Proto))
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
