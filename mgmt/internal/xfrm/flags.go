// SPDX-License-Identifier: Apache-2.0

package xfrm

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
		{"icmp", &f.ICMP}, {"af-unspec", &f.AFUnspec}, {"align4", &f.Align4}, {"esn", &f.ESN},
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
