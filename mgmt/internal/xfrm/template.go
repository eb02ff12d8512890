// SPDX-License-Identifier: Apache-2.0

package xfrm

import "net/netip"

// template reads what follows tmpl.
func (p *parser) template() (*Template, error) {
	t := &Template{Mode: ModeTransport}
	start := p.lastPos()
	seen := false
	first := p.next
	for p.more() {
		var err error
		switch word := p.peek(); {
		case word == "mode":
			p.skip()
			t.Mode, err = p.mode()
		case word == "reqid":
			p.skip()
			t.ReqID, err = p.number32("the reqid")
		case word == "level":
			p.skip()
			var level Token
			if level, err = p.take("the level"); err == nil && string(level.Text) != "required" {
				err = level.errorf("level must be required, not %s: a packet is never sent in clear for want of an SA", level.quoted())
			}
		case isIDWord(word) && !seen:
			seen = true
			t.ID, err = p.id()
		default:
			return t, checkTemplate(start, t)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.next == first {
		_, err := p.take("a template")
		return nil, err
	}
	return t, checkTemplate(start, t)
}

func checkTemplate(pos Pos, t *Template) error {
	for _, end := range []*netip.Addr{&t.Src, &t.Dst} {
		if end.IsUnspecified() {
			*end = netip.Addr{}
		}
	}
	switch {
	case t.Proto == "":
		return Errorf(pos, "a tmpl needs its protocol: proto esp")
	case t.Mode == ModeTunnel && !(t.Src.IsValid() && t.Dst.IsValid()):
		return Errorf(pos, "a tmpl in tunnel mode needs both endpoints: tmpl src ADDR dst ADDR")
	}
	return nil
}

// Names reports whether a policy's template asks for this SA, its direction apart. In transport
// mode the ends of an SA are hosts in the policy's selector, and a template need not name them.
func (p *Policy) Names(s *State) bool {
	t := p.Template
	if t == nil || t.Proto != s.Proto || t.Mode != s.Mode || t.ReqID != 0 && t.ReqID != s.ReqID || t.SPI != 0 && t.SPI != s.SPI || p.IfID != s.IfID {
		return false
	}
	end := func(named, addr netip.Addr, hosts side) bool {
		return named == addr || !named.IsValid() && hosts.contains(addr)
	}
	return end(t.Src, s.Src, p.src()) && end(t.Dst, s.Dst, p.dst())
}

// Carried is the part of a selector that an SA carries: in transport mode the packets of its own
// ends, else all of it.
func (s *State) Carried(sel Selector) Selector {
	if s.Mode == ModeTransport {
		sel.Src, sel.Dst = netip.PrefixFrom(s.Src, s.Src.BitLen()), netip.PrefixFrom(s.Dst, s.Dst.BitLen())
		sel.SrcList, sel.DstList = "", ""
	}
	return sel
}

// checkVRFPolicy refuses what a policy of a VRF cannot be. Black is one network, which is in no
// VRF: no clear packet of a VRF leaves by it, and none comes from there.
func checkVRFPolicy(pos Pos, pol *Policy) error {
	switch {
	case pol.Template != nil && pol.Template.Mode == ModeTransport:
		return Errorf(pos, "a policy with dev %s needs a tmpl of mode tunnel: the packets of a VRF are routed", pol.VRF)
	case pol.Template != nil:
		return nil
	case pol.Action == ActionAllow && pol.Dir == DirOut:
		return Errorf(pos, "an out policy with dev %s and without a tmpl would let clear packets out to black, which is in no VRF: write its tmpl, or action block", pol.VRF)
	case pol.Action != ActionBlock && pol.Dir != DirOut:
		return Errorf(pos, "an in or fwd policy with dev %s and without a tmpl is for clear packets from black, which is in no VRF: write its tmpl, or action block", pol.VRF)
	}
	return nil
}
