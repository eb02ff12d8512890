package xfrm

import (
	"math"
	"strings"
)

// flags reads flag words, or their number in hexadecimal as the kernel has them.
func (p *parser) flags(f *Flags) error {
	first, err := p.take("a flag")
	if err != nil {
		return err
	}
	p.next--
	names := []struct {
		name string
		set  *bool
	}{
		{"noecn", &f.NoECN}, {"decap-dscp", &f.decapDSCP}, {"nopmtudisc", &f.NoPMTUDisc}, {"wildrecv", &f.wildRecv},
		{"icmp", &f.icmp}, {"af-unspec", &f.AFUnspec}, {"align4", &f.Align4}, {"esn", &f.ESN},
	}
	if text := p.peek(); len(text) > 2 && text[:2] == "0x" {
		n, err := p.number("the flags", 8)
		if err != nil {
			return err
		}
		for bit, flag := range names {
			*flag.set = *flag.set || n>>bit&1 != 0
		}
	} else {
		count := 0
		for ; p.more(); count++ {
			found := false
			for _, flag := range names {
				if p.peek() == flag.name {
					*flag.set, found = true, true
				}
			}
			if !found {
				break
			}
			p.skip()
		}
		if count == 0 {
			return first.errorf("unknown flag %s", first.quoted())
		}
	}
	switch {
	case f.decapDSCP:
		return first.errorf("flag decap-dscp is not supported: the decrypted packet keeps its own DSCP")
	case f.wildRecv:
		return first.errorf("flag wildrecv is not supported: the SAD looks at the destination")
	case f.icmp:
		return first.errorf("flag icmp is not supported: decrypted ICMP errors are held to the SA's selectors")
	}
	return nil
}

func (p *parser) extraFlags(f *Flags) error {
	count := 0
	for ; p.more(); count++ {
		switch p.peek() {
		case "dont-encap-dscp":
			f.DontEncapDSCP = true
		case "oseq-may-wrap":
			return p.words[p.next].errorf("extra-flag oseq-may-wrap is not supported: a repeated sequence number would repeat a nonce")
		case "0x2":
			f.DontEncapDSCP = false
			return p.words[p.next].errorf("extra-flag oseq-may-wrap is not supported: a repeated sequence number would repeat a nonce")
		case "0x1":
			f.DontEncapDSCP = true
		default:
			if count == 0 {
				return p.words[p.next].errorf("unknown extra-flag %s", p.words[p.next].quoted())
			}
			return nil
		}
		p.skip()
	}
	if count == 0 {
		_, err := p.take("an extra-flag")
		return err
	}
	return nil
}

// MaxPackets is the greatest packet limit that the crypto chip holds.
const MaxPackets = 1<<56 - 1

// limit reads one lifetime. Infinite ones ask for nothing; the chips count bytes and packets, not time.
func (p *parser) limit(s *State) error {
	word, err := p.take("a limit")
	if err != nil {
		return err
	}
	name := string(word.Text)
	infinite := uint64(math.MaxUint64)
	switch name {
	case "time-soft", "time-hard", "time-use-soft", "time-use-hard":
		infinite = 0
	case "byte-soft", "byte-hard", "packet-soft", "packet-hard":
	default:
		return word.errorf("unknown limit %s", word.quoted())
	}
	n, err := p.number("the value of "+name, 64)
	if err != nil {
		return err
	}
	kept := map[string]*uint64{"byte-soft": &s.ByteSoft, "byte-hard": &s.ByteHard, "packet-soft": &s.PacketSoft, "packet-hard": &s.PacketHard}[name]
	switch {
	case n == infinite:
		n = 0
	case kept == nil:
		return word.errorf("limit %s is not supported: the chips count bytes and packets (byte-soft, byte-hard, packet-soft, packet-hard)", name)
	case strings.HasPrefix(name, "packet-") && n > MaxPackets:
		return word.errorf("limit %s %d is too large: at most %d packets, or no limit at all", name, n, uint64(MaxPackets))
	case n == 0:
		return word.errorf("limit %s 0 would let no packet pass", name)
	}
	if kept != nil {
		*kept = n
	}
	return nil
}
