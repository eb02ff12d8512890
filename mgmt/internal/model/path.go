// SPDX-License-Identifier: Apache-2.0

package model

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// Path is how packets to a prefix leave by a device.
type Path struct {
	Hop  netip.Addr // whose Ethernet address; invalid: row 0
	Mtu  uint32     // of the route; 0: none
	Many bool       // parts of the prefix have hops of their own
}

// Lookup finds the next hop of a whole prefix: by the longest route that holds it all, else by the
// routes and neighbours inside it if they agree. The zero prefix is every address of both IP
// versions. In a VRF a host is reached by its own row, and is no way to others.
func (m *Model) Lookup(dev string, to netip.Prefix) Path {
	if !to.IsValid() {
		return m.bothVersions(dev)
	}
	out := m.ofVersion(dev, to)
	if m.vrfName != "" && m.HasRow(NextHop{Dev: dev, IP: out.Hop}) && !m.Routed(dev, out.Hop) {
		out.Hop = netip.Addr{}
	}
	return out
}

func (m *Model) ofVersion(dev string, to netip.Prefix) Path {
	known := func(addr netip.Addr) bool {
		_, learned := m.Learned[NextHop{Dev: dev, IP: addr, Network: m.number}]
		return learned || slices.ContainsFunc(m.Neighs, func(n Neigh) bool { return n.Dev == dev && n.IP == addr })
	}
	best := m.best(dev, to)
	if best.Via.IsValid() {
		hops := m.gateways(dev, to, best)
		delete(hops, best.Via)
		return Path{Hop: best.Via, Mtu: best.MTU, Many: len(hops) > 0}
	}
	// Hosts of red have rows of their own.
	hosts := dev == xfrm.Red && best.Prefix.IsValid()
	if to.IsSingleIP() && known(to.Addr()) && !hosts {
		return Path{Hop: to.Addr(), Mtu: best.MTU}
	}
	hops, alone := m.gateways(dev, to, best), map[netip.Addr]bool{}
	for _, n := range m.Neighs {
		switch {
		case n.Dev != dev || !to.Contains(n.IP) || m.Routed(dev, n.IP) || hosts:
		case m.leadsBack(dev, netip.PrefixFrom(n.IP, n.IP.BitLen())):
			// No packet to it leaves by the port.
		case m.HasRow(NextHop{Dev: dev, IP: n.IP}):
			alone[n.IP] = true
		default:
			hops[n.IP] = true
		}
	}
	if len(hops) == 0 && len(alone) == 1 {
		hops = alone
	}
	out := Path{Mtu: best.MTU, Many: len(hops) > 1}
	for hop := range hops {
		if !out.Many {
			out.Hop = hop
		}
	}
	return out
}

// best is the longest route of a device that holds all of a prefix; the network of an address is
// one without a gateway, and comes first.
func (m *Model) best(dev string, to netip.Prefix) (best Route) {
	for _, r := range m.Routes {
		if r.Dev == dev && xfrm.Within(r.Prefix, to) && (!best.Prefix.IsValid() || r.Prefix.Bits() > best.Prefix.Bits()) {
			best = r
		}
	}
	for _, a := range m.Addrs {
		if net := a.Prefix.Masked(); a.Dev == dev && xfrm.Within(net, to) && (!best.Prefix.IsValid() || net.Bits() >= best.Prefix.Bits()) {
			best = Route{Prefix: net, Place: a.Place}
		}
	}
	return best
}

// gateways are those of routes inside a prefix, but for one route.
func (m *Model) gateways(dev string, to netip.Prefix, but Route) map[netip.Addr]bool {
	hops := map[netip.Addr]bool{}
	for _, r := range m.Routes {
		if r.Dev == dev && r.Via.IsValid() && r.Prefix != but.Prefix && xfrm.Within(to, r.Prefix) {
			hops[r.Via] = true
		}
	}
	return hops
}

// OnLink says whether a host is straight behind a port: on a network of one of its addresses, or by
// a route without a gateway. A written route comes before one of Linux that is not longer.
func (m *Model) OnLink(dev string, host netip.Addr) bool {
	return m.onLink(dev, netip.PrefixFrom(host, host.BitLen()))
}

// LinuxRoute is the learned route by which packets to a prefix leave by a port; nil if a written
// route or the port's own network comes first.
func (m *Model) LinuxRoute(dev string, hosts netip.Prefix) *learned.Route {
	best, r := m.best(dev, hosts), m.FromLinux[dev].Longest(hosts, nil)
	if r == nil || best.Prefix.IsValid() && best.Prefix.Bits() >= r.Prefix.Bits() {
		return nil
	}
	return r
}

// onLink says the same of those hosts of a prefix that no longer route leads elsewhere.
func (m *Model) onLink(dev string, hosts netip.Prefix) bool {
	best, linux := m.best(dev, hosts), m.LinuxRoute(dev, hosts)
	if m.leadsBack(dev, hosts) {
		return false // a station at red must not take the packets of a network behind a tunnel
	}
	if linux != nil {
		return linux.Type == "" && len(linux.Via) == 0
	}
	return best.Prefix.IsValid() && !best.Via.IsValid()
}

// leadsBack says whether packets to a prefix that would leave by a port go back to black through a
// tunnel.
func (m *Model) leadsBack(dev string, hosts netip.Prefix) bool {
	back := m.best(Tunnels, hosts)
	if dev != xfrm.Red || !back.Prefix.IsValid() {
		return false
	}
	best, linux := m.best(dev, hosts), m.LinuxRoute(dev, hosts)
	longer := !best.Prefix.IsValid() || back.Prefix.Bits() > best.Prefix.Bits()
	return longer && (linux == nil || back.Prefix.Bits() >= linux.Prefix.Bits())
}

// HopsTo are the stations that bring packets to a host which leave by a port: the host itself, or
// one of some gateways. Without a route it is the next hop that all such packets have.
func (m *Model) HopsTo(dev string, host netip.Addr) []netip.Addr {
	all := netip.PrefixFrom(host, host.BitLen())
	best, linux := m.best(dev, all), m.LinuxRoute(dev, all)
	switch {
	case m.leadsBack(dev, all), linux != nil && linux.Type != "":
		return nil
	case m.OnLink(dev, host):
		return []netip.Addr{host}
	case linux != nil:
		return linux.Via
	case best.Via.IsValid():
		return []netip.Addr{best.Via}
	}
	return []netip.Addr{m.Lookup(dev, all).Hop}
}

// LeadsInside says whether routes of parts of a port's own network of an IP version lead to
// gateways. Then its address does not tell whether a packet is for a host or for a gateway, and its
// next hop does. Small routes do not count, for each of their addresses has a row of hosts.
func (m *Model) LeadsInside(dev string, v6 bool) bool {
	local := m.Local(dev, v6)
	return slices.ContainsFunc(m.Routes, func(r Route) bool {
		return r.Dev == dev && r.Prefix.Addr().Is6() == v6 && r.Via.IsValid() && !learned.Small(r.Prefix) && local.IsValid() && xfrm.Within(netip.PrefixFrom(local, int(m.LocalBits(dev, v6))).Masked(), r.Prefix)
	})
}

// Routed says whether an address is the gateway of a route, and so stands for what lies behind it.
func (m *Model) Routed(dev string, addr netip.Addr) bool {
	return slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Dev == dev && r.Via == addr })
}

// bothVersions is the path of every address. IPv4's and IPv6's next hop may be one station by
// two names.
func (m *Model) bothVersions(dev string) Path {
	v4, v6 := m.Lookup(dev, xfrm.Everything), m.Lookup(dev, xfrm.Everything6)
	out := v4
	if !v4.Hop.IsValid() {
		out = v6
	}
	a, b := m.Station(dev, v4.Hop), m.Station(dev, v6.Hop)
	out.Many = v4.Many || v6.Many || v4.Hop.IsValid() && v6.Hop.IsValid() && a != b
	return out
}

// Station is the Ethernet address of a next hop: from its neighbour line, else as learned, else
// that of row 0, which may be empty, and is in network 0.
func (m *Model) Station(dev string, hop netip.Addr) xfrm.MAC {
	for _, n := range m.Neighs {
		if n.Dev == dev && n.IP == hop {
			return n.MAC
		}
	}
	if mac, ok := m.Learned[NextHop{Dev: dev, IP: hop, Network: m.number}]; ok {
		return mac
	}
	if mac := m.Links[dev].Default; mac != nil && m.vrfName == "" {
		return *mac
	}
	return xfrm.MAC{}
}
