package box

import "sallyport/mgmt/internal/xfrm"

var devices = []string{xfrm.Red, xfrm.Black}

// names says whether a template asks for this SA, its direction apart.
func names(t *xfrm.Template, sa *SA) bool {
	return t != nil && t.Src == sa.Src && t.Dst == sa.Dst && t.Proto == sa.Proto && t.Mode == sa.Mode &&
		(t.ReqID == 0 || t.ReqID == sa.ReqID) && (t.SPI == 0 || t.SPI == sa.SPI)
}

// direct decides the direction of SAs that are new (docs/interfaces.md, section 6).
func (m *Model) direct(report *report) error {
	find := newFinder(m.SAs)
	asked := m.asked(find)
	for _, sa := range m.SAs {
		if !sa.fresh {
			continue
		}
		var known bool
		if sa.Way, known = m.direction(sa, asked); !known {
			report.warn(sa.pos, "the SA spi 0x%x is taken as inbound: it has no dir, no out policy names it and neither of its endpoints is an address of black", sa.SPI)
		}
		if sa.Way == xfrm.DirOut && sa.ReplaySeq != 0 {
			return xfrm.Errorf(sa.pos, "replay-seq is of inbound SAs alone, and this one is outbound: its sequence numbers start at 1")
		}
		if sa.Way == xfrm.DirIn && sa.Flags.ESN && sa.ReplayWindow == 0 {
			return xfrm.Errorf(sa.pos, "flag esn needs a replay-window: the high half of the sequence number is inferred from it")
		}
		if sa.Way == xfrm.DirIn {
			if err := sa.CheckInboundEncap(sa.pos); err != nil {
				return err
			}
		}
	}
	for _, p := range m.Policies {
		if p.Dir != xfrm.DirOut || p.Template == nil || find.newest(p.Template) != nil {
			continue
		}
		for _, sa := range find.named(p.Template, "") {
			if !sa.fresh && sa.State.Dir == "" {
				return xfrm.Errorf(p.pos, "the tmpl names the SA spi 0x%x, which was installed as inbound: delete it and add it with `dir out`, or load it together with its policy", sa.SPI)
			}
		}
	}
	return nil
}

// asked gives, for each SA that a template of a policy names, whether an out policy or another one does.
func (m *Model) asked(find finder) map[*SA]xfrm.Dir {
	out := map[*SA]xfrm.Dir{}
	for _, p := range m.Policies {
		if p.Template == nil {
			continue
		}
		for _, sa := range find.named(p.Template, "") {
			if p.Dir == xfrm.DirOut {
				out[sa] = xfrm.DirOut
			} else if out[sa] == "" {
				out[sa] = xfrm.DirIn
			}
		}
	}
	return out
}

func (m *Model) direction(sa *SA, asked map[*SA]xfrm.Dir) (dir xfrm.Dir, known bool) {
	if sa.State.Dir != "" {
		return sa.State.Dir, true
	}
	if asked[sa] == xfrm.DirOut {
		return xfrm.DirOut, true
	}
	for _, a := range m.Addrs {
		if a.Dev == xfrm.Black && a.Prefix.Addr() == sa.Src {
			return xfrm.DirOut, true
		}
	}
	for _, a := range m.Addrs {
		if a.Dev == xfrm.Black && a.Prefix.Addr() == sa.Dst {
			return xfrm.DirIn, true
		}
	}
	return xfrm.DirIn, asked[sa] == xfrm.DirIn
}
