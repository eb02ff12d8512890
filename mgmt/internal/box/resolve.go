package box

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

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
		if sa.Way == xfrm.DirIn && (sa.PacketHard != 0 || sa.PacketSoft != 0) {
			return xfrm.Errorf(sa.pos, "packet limits are kept for outbound SAs alone, and this one is inbound")
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

// within says whether all of inner is in outer.
func within(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// path is how packets to a prefix leave by a device.
type path struct {
	hop  netip.Addr // whose Ethernet address; invalid: row 0
	mtu  uint32     // of the route; 0: none
	many bool       // parts of the prefix have hops of their own
}

// lookup finds the next hop of everything in a prefix: by the longest route that holds it all, else by the routes and
// neighbours inside it if they agree.
func (m *Model) lookup(dev string, to netip.Prefix) path {
	known := func(addr netip.Addr) bool {
		return slices.ContainsFunc(m.Neighs, func(n Neigh) bool { return n.Dev == dev && n.IP == addr })
	}
	best := Route{}
	for _, r := range m.Routes {
		if r.Dev == dev && within(r.Prefix, to) && (!best.Prefix.IsValid() || r.Prefix.Bits() > best.Prefix.Bits()) {
			best = r
		}
	}
	for _, a := range m.Addrs {
		if net := a.Prefix.Masked(); a.Dev == dev && within(net, to) && (!best.Prefix.IsValid() || net.Bits() >= best.Prefix.Bits()) {
			best = Route{Prefix: net, Dev: dev}
		}
	}
	if to.IsSingleIP() && known(to.Addr()) && !best.Via.IsValid() {
		return path{hop: to.Addr(), mtu: best.MTU}
	}
	hops := map[netip.Addr]bool{}
	for _, r := range m.Routes {
		if r.Dev == dev && r.Via.IsValid() && r.Prefix != best.Prefix && within(to, r.Prefix) {
			hops[r.Via] = true
		}
	}
	if best.Via.IsValid() {
		delete(hops, best.Via)
		return path{hop: best.Via, mtu: best.MTU, many: len(hops) > 0}
	}
	for _, n := range m.Neighs {
		if n.Dev == dev && to.Contains(n.IP) && !m.routed(dev, n.IP) {
			hops[n.IP] = true
		}
	}
	out := path{mtu: best.MTU, many: len(hops) > 1}
	for hop := range hops {
		if !out.many {
			out.hop = hop
		}
	}
	return out
}

// routed says whether an address is the gateway of a route, and so stands for what lies behind it.
func (m *Model) routed(dev string, addr netip.Addr) bool {
	return slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Dev == dev && r.Via == addr })
}

// mtu is the largest IP packet of a port.
func (m *Model) mtu(dev string) uint32 {
	if mtu := m.Links[dev].MTU; mtu != 0 {
		return mtu
	}
	return xfrm.MaxMTU
}

// portMAC is the configured address of a port, or a locally administered one made of its first IP address, so that two
// boxes on one wire differ and the same configuration always gives the same frames.
func (m *Model) portMAC(dev string) xfrm.MAC {
	if mac := m.Links[dev].Address; mac != nil {
		return *mac
	}
	mac := xfrm.MAC{0x02, 'r'}
	if dev == xfrm.Black {
		mac[1] = 'b'
	}
	if addr := m.local(dev); addr.IsValid() {
		octets := addr.As4()
		copy(mac[2:], octets[:])
	} else {
		mac[5] = 1
	}
	return mac
}

// local is the first address of a port; black's may be known from an outbound SA alone.
func (m *Model) local(dev string) netip.Addr {
	for _, a := range m.Addrs {
		if a.Dev == dev {
			return a.Prefix.Addr()
		}
	}
	for _, sa := range m.SAs {
		if dev == xfrm.Black && sa.Way == xfrm.DirOut {
			return sa.Src
		}
	}
	return netip.Addr{}
}

// number is an address as the chips' rows hold it.
func number(addr netip.Addr) uint64 {
	if !addr.IsValid() {
		return 0
	}
	octets := addr.As4()
	return uint64(binary.BigEndian.Uint32(octets[:]))
}

func mask(p netip.Prefix) uint64 {
	return uint64(^uint32(0)) << (32 - p.Bits()) & 0xFFFFFFFF
}
