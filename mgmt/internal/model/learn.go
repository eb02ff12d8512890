// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// NextHop is a host straight behind a port, in the network of a number. The address of one link
// alone has in a VRF the ID of its VLAN as zone.
type NextHop struct {
	Dev     string
	IP      netip.Addr
	Network int
}

func (h NextHop) Compare(o NextHop) int {
	return cmp.Or(cmp.Compare(h.Dev, o.Dev), cmp.Compare(h.Network, o.Network), h.IP.Compare(o.IP))
}

// MarshalText makes it a key of JSON.
func (h NextHop) MarshalText() ([]byte, error) {
	text := h.Dev + " " + h.IP.String()
	if h.Network != 0 {
		text += " " + strconv.Itoa(h.Network)
	}
	return []byte(text), nil
}

// UnmarshalText reads it.
func (h *NextHop) UnmarshalText(text []byte) (err error) {
	dev, rest, _ := strings.Cut(string(text), " ")
	ip, network, apart := strings.Cut(rest, " ")
	h.Dev, h.Network = dev, 0
	if apart {
		if h.Network, err = strconv.Atoi(network); err != nil {
			return err
		}
	}
	h.IP, err = netip.ParseAddr(ip)
	return err
}

// ByHand says whether the administrator wrote a host's address.
func (m *Model) ByHand(h NextHop) bool {
	return slices.ContainsFunc(m.Neighs, func(n Neigh) bool { return n.Dev == h.Dev && n.IP == h.IP })
}

// Learn takes addresses of hosts in place of those learned before. `leads` are hosts whose
// addresses rows of SAs and policies need, in their order.
func (m *Model) Learn(learned map[NextHop]xfrm.MAC, leads []NextHop) {
	insides := m.Insides()
	differ := func(these, those map[NextHop]xfrm.MAC) {
		for host, mac := range these {
			if other, has := those[host]; has && other == mac {
				continue
			}
			// What leads to a gateway depends on its address, and so does what leads to the far end
			// of a tunnel; what leads to other hosts does not.
			_, led := slices.BinarySearchFunc(leads, host, NextHop.Compare)
			far := led && host.Dev == xfrm.Black
			own := insides[host.Network]
			if m.Changes.Hosts = true; own != nil && (!own.HasRow(host) || own.Routed(host.Dev, host.IP) || far) {
				m.Changes.Network = true
			}
		}
	}
	differ(learned, m.Learned)
	differ(m.Learned, learned)
	m.Learned = learned
}

// HasRow says whether a host, if its Ethernet address is known, has a row of its own: it is
// straight behind a port. A packet of one link alone reaches no row.
func (m *Model) HasRow(h NextHop) bool {
	return !h.IP.IsLinkLocalUnicast() && m.OnLink(h.Dev, h.IP)
}

// Resolves says whether the box looks for a host that packets go to. In a VRF those are the hosts
// of its VLANs, and in network 0 those without a VLAN.
func (m *Model) Resolves(h NextHop) bool {
	return m.HasRow(h) && !m.Owns(h.IP) && !m.IsBroadcast(h.IP) && !h.IP.IsMulticast() && !m.Bump() && m.InReach(h)
}

// InReach says whether Linux has the device behind which a host is, as far as the model can tell:
// that of the port, or in a VRF one of its VLANs.
func (m *Model) InReach(h NextHop) bool { return (m.HopVLAN(h.Dev, h.IP) != "") == (m.vrfName != "") }

// LearnRoutes takes routes of a set in place of those learned before for their prefixes. A route
// in a model is never written: another one replaces it. It says whether any is another now.
func (m *Model) LearnRoutes(dev string, changes []learned.Change) bool {
	routes, own, port := m.FromLinux[dev], m, dev
	if learned.OfVRF(dev) {
		v := m.vrfOfSet(dev)
		if v == nil {
			return false // it is gone, and its routes with it; its table may be another one's
		}
		if routes == nil {
			routes = learned.New()
			m.FromLinux[dev] = routes
		}
		own, port = m.Inside(v.Name), xfrm.Red
	}
	onLink := func(p netip.Prefix) bool { return !learned.Steers(dev) && own.onLink(port, p) }
	for _, c := range changes {
		old := routes.Find(c.Prefix)
		if old == nil && c.Route == nil || old != nil && c.Route != nil && old.Same(c.Route) && !old.Refused {
			continue
		}
		// Hosts straight behind a port have rows, and a route may make some of them so, or
		// others. So have the addresses of small routes.
		before := onLink(c.Prefix)
		routes.Set(c.Prefix, c.Route)
		m.Changes.Hosts = m.Changes.Hosts || before || onLink(c.Prefix) || learned.Small(c.Prefix)
		m.Changes.route(dev, c.Prefix, c.Route)
	}
	return len(m.Changes.Routes[dev]) > 0
}

// Refuse notes that a port's chip has no room for routes that were learned.
func (m *Model) Refuse(dev string, prefixes []netip.Prefix) {
	for _, p := range prefixes {
		if m.FromLinux[dev] == nil || m.FromLinux[dev].Find(p) == nil {
			continue // it is gone, and Linux is asked for all of its routes in a while
		}
		own := *m.FromLinux[dev].Find(p)
		own.Refused = true
		m.LoadRoute(dev, &own)
		m.Changes.route(dev, p, &own)
	}
}

// LoadRoute takes a learned route that a file has.
func (m *Model) LoadRoute(dev string, r *learned.Route) {
	if m.FromLinux[dev] == nil {
		m.FromLinux[dev] = learned.New()
	}
	m.FromLinux[dev].Set(r.Prefix, r)
}

// SteeringSet is the set of Linux's routes that steer packets of a VRF, or of none; empty: there is
// no such VRF.
func (m *Model) SteeringSet(vrf string) string {
	if vrf == "" {
		return learned.Steering
	}
	if v := m.vrf(vrf); v != nil {
		return learned.SteeringOf(v.Table, v.Name)
	}
	return ""
}

// vrfOfSet is the VRF of a set of routes, or nil.
func (m *Model) vrfOfSet(set string) *VRF {
	i := slices.IndexFunc(m.VRFs, func(v VRF) bool {
		return learned.OfTable(v.Table, v.Name) == set || learned.SteeringOf(v.Table, v.Name) == set
	})
	if i < 0 {
		return nil
	}
	return &m.VRFs[i]
}

// NameOfSet is a set of routes as the metrics name it: one of a VRF has the VRF's name.
func (m *Model) NameOfSet(set string) string {
	v := m.vrfOfSet(set)
	switch {
	case v == nil:
		return set
	case learned.Steers(set):
		return learned.Steering + " vrf " + v.Name
	}
	return "vrf " + v.Name
}

// forgetApart forgets learned routes and hosts of VRFs that there are no more, or that have another
// table now. Their numbers are given to others in a later change alone.
func (m *Model) forgetApart() {
	numbers := map[int]bool{0: true}
	for _, v := range m.VRFs {
		numbers[v.Number] = true
	}
	before := len(m.Learned)
	hosts := maps.Clone(m.Learned) // it is never changed in place
	maps.DeleteFunc(hosts, func(h NextHop, _ xfrm.MAC) bool { return !numbers[h.Network] })
	if len(hosts) < before {
		m.Learned, m.Changes.Hosts = hosts, true
	}
	for set, routes := range m.FromLinux {
		if !learned.OfVRF(set) || m.vrfOfSet(set) != nil {
			continue
		}
		for r := range routes.All() {
			m.Changes.route(set, r.Prefix, nil)
		}
		delete(m.FromLinux, set)
	}
}

// Treed says whether packets of a VRF need a tree of routes: some lead to gateways or back to
// black, or Linux has some. Without, packets go to hosts, which have rows of their own.
func (m *Model) Treed() bool {
	return m.FromLinux[xfrm.Red].Somewhere() || slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Via.IsValid() || r.Dev == Tunnels })
}

// Way is where packets to a prefix go that leave by a port: to one of some next hops, or, without
// any, to hosts straight behind it.
type Way struct {
	Prefix netip.Prefix
	Via    []netip.Addr
	Linux  bool // it is one of Linux's
}

// Nowhere is the next hop of packets that go nowhere: no host has this address.
var Nowhere = netip.IPv6Unspecified()

// Back is the next hop of packets out of tunnels that go back to black through another tunnel: no
// host has this address.
var Back = netip.IPv4Unspecified()

// Tunnels is the device of written routes that lead there.
const Tunnels = "black encap xfrm"

// WayOf is where packets to a prefix of the tree itself go that leave by a port, if anything says
// so: its written route comes first, then the port's own network, then of red a route back to
// black, then Linux's route.
func (m *Model) WayOf(dev string, p netip.Prefix) (Way, bool) {
	if !learned.Treeable(p) {
		return Way{}, false
	}
	return m.WayOfAny(dev, p)
}

// WayOfAny is the same of a prefix that the tree need not hold.
func (m *Model) WayOfAny(dev string, p netip.Prefix) (Way, bool) {
	if m.Bump() || p.Addr().IsLinkLocalUnicast() || p.Addr().IsMulticast() {
		return Way{}, false
	}
	for _, r := range m.Routes {
		if r.Dev == dev && r.Prefix == p {
			return r.way(), true
		}
	}
	if slices.ContainsFunc(m.Addrs, func(a Address) bool { return a.Dev == dev && a.Prefix.Masked() == p }) {
		return Way{Prefix: p}, true
	}
	if dev == xfrm.Red && slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Prefix == p && r.Dev == Tunnels }) {
		return Way{Prefix: p, Via: []netip.Addr{Back}}, true
	}
	if r := m.FromLinux[dev].Find(p); r != nil && r.OnChip() {
		return linuxWay(r), true
	}
	return Way{}, false
}

// Ways are those of all prefixes of a port, in their order: those that were written or given, then
// Linux's.
func (m *Model) Ways(dev string) (ways []Way) {
	seen := map[netip.Prefix]bool{}
	add := func(p netip.Prefix) {
		if way, is := m.WayOf(dev, p); is && !seen[p] {
			seen[p] = true
			ways = append(ways, way)
		}
	}
	for _, r := range m.Routes {
		if r.Dev == dev || dev == xfrm.Red && r.Dev == Tunnels {
			add(r.Prefix)
		}
	}
	for _, a := range m.Addrs {
		if a.Dev == dev {
			add(a.Prefix.Masked())
		}
	}
	if m.Bump() {
		return ways
	}
	for r := range m.FromLinux[dev].All() {
		if r.OnChip() && learned.Treeable(r.Prefix) && !seen[r.Prefix] && !r.Prefix.Addr().IsLinkLocalUnicast() && !r.Prefix.Addr().IsMulticast() {
			ways = append(ways, linuxWay(r))
		}
	}
	return ways
}

func (r *Route) way() Way {
	if !r.Via.IsValid() {
		return Way{Prefix: r.Prefix}
	}
	return Way{Prefix: r.Prefix, Via: []netip.Addr{r.Via}}
}

func linuxWay(r *learned.Route) Way {
	if r.Type != "" {
		return Way{Prefix: r.Prefix, Via: []netip.Addr{Nowhere}, Linux: true}
	}
	return Way{Prefix: r.Prefix, Via: r.Via, Linux: true}
}

// Gateways are those of all ways out of a port, each once, those of written routes first.
func (m *Model) Gateways(dev string) (hops []netip.Addr) {
	if m.Bump() {
		return nil
	}
	for _, r := range m.Routes {
		if r.Dev == dev && r.Via.IsValid() && learned.Treeable(r.Prefix) && !slices.Contains(hops, r.Via) {
			hops = append(hops, r.Via)
		}
	}
	if dev == xfrm.Red && slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Dev == Tunnels }) {
		hops = append(hops, Back)
	}
	written := len(hops)
	for via := range m.FromLinux[dev].Via() {
		if !slices.Contains(hops[:written], via) {
			hops = append(hops, via)
		}
	}
	if m.FromLinux[dev].Nowhere() {
		hops = append(hops, Nowhere)
	}
	slices.SortFunc(hops[written:], netip.Addr.Compare)
	return hops
}
