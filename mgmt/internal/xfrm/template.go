package xfrm

import "net/netip"

// template reads what follows tmpl.
func (p *parser) template() (*Template, error) {
	t := &Template{}
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
	unset := func(a netip.Addr) bool { return !a.IsValid() || a.IsUnspecified() }
	switch {
	case t.Proto == "":
		return Errorf(pos, "a tmpl needs its protocol: proto esp")
	case t.Mode == "":
		return Errorf(pos, "the tmpl has no mode, which means transport to iproute2; %s", transportRefusal)
	case unset(t.Src) || unset(t.Dst):
		return Errorf(pos, "a tmpl in tunnel mode needs both endpoints: tmpl src ADDR dst ADDR")
	}
	return nil
}
