package xfrm

func isSelectorWord(word string) bool {
	switch word {
	case "src", "dst", "dev", "proto", "sport", "dport", "type", "code", "key":
		return true
	}
	return false
}

// selector reads a run of src, dst, dev and one upper-layer part.
func (p *parser) selector() (Selector, error) {
	s := Selector{Src: Everything, Dst: Everything}
	upper := false
	first := p.next
	for p.more() {
		var err error
		switch p.peek() {
		case "src":
			p.skip()
			s.Src, err = p.prefix("the prefix after src")
		case "dst":
			p.skip()
			s.Dst, err = p.prefix("the prefix after dst")
		case "dev":
			p.skip()
			if p.peek() == "none" {
				p.skip()
				s.Dev = ""
				break
			}
			s.Dev, err = p.device()
		case "proto", "sport", "dport", "type", "code", "key":
			if upper {
				return s, nil
			}
			upper = true
			err = p.upper(&s)
		default:
			if p.next == first {
				_, err = p.take("a selector")
				if err == nil {
					p.next--
					err = p.unknown()
				}
				return s, err
			}
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
	if p.next == first {
		_, err := p.take("a selector")
		return s, err
	}
	return s, nil
}

// upper reads proto, sport and dport; type, code and key are refused, since the chips do not look at them.
func (p *parser) upper(s *Selector) error {
	var ports *Token
	for p.more() {
		word := p.words[p.next]
		var n uint64
		var err error
		switch p.peek() {
		case "proto":
			p.skip()
			s.Proto, err = p.upperProtocol()
		case "sport":
			p.skip()
			ports = &word
			n, err = p.number("the port after sport", 16)
			s.SPort = uint16(n)
		case "dport":
			p.skip()
			ports = &word
			n, err = p.number("the port after dport", 16)
			s.DPort = uint16(n)
		case "type", "code":
			return word.refuse("the chips do not look at ICMP types and codes")
		case "key":
			return word.refuse("the chips do not look at GRE keys")
		default:
			return checkPorts(ports, s)
		}
		if err != nil {
			return err
		}
	}
	return checkPorts(ports, s)
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
