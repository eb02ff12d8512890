// SPDX-License-Identifier: Apache-2.0

package model

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// addr adds or removes an address of a port.
func (m *Model) addr(c xfrm.Addr) error {
	if v := m.vrfOf(c.Dev); v != nil {
		return m.inside(v, func(own *Model) error { return own.addrApart(v.Name, c) })
	}
	place, err := m.place(c.Dev, c.Pos)
	if err != nil {
		return err
	}
	entry := Address{c.Prefix, place}
	has := slices.Contains(m.Addrs, entry)
	switch {
	case c.Del && !has:
		return xfrm.Errorf(c.Pos, "%s has no address %s", c.Dev, c.Prefix)
	case c.Del:
		m.Addrs = slices.DeleteFunc(m.Addrs, func(a Address) bool { return a == entry })
		return nil
	case has:
		return xfrm.Errorf(c.Pos, "%s has the address %s already", c.Dev, c.Prefix)
	}
	for _, a := range m.Addrs {
		if a.Dev != entry.Dev && a.Prefix.Overlaps(c.Prefix) && !a.Prefix.IsSingleIP() && !c.Prefix.IsSingleIP() && !c.Prefix.Addr().IsLinkLocalUnicast() {
			return xfrm.Errorf(c.Pos, "%s on %s overlaps %s on %s: red and black are different networks", c.Prefix, entry.Dev, a.Prefix, a.Dev)
		}
	}
	m.Addrs = append(m.Addrs, entry)
	if entry.Dev == xfrm.Red && c.Prefix.Addr().Is6() {
		m.redMTU = &c.Pos
	}
	return nil
}

func (m *Model) link(c xfrm.Link) error {
	l := m.Links[c.Dev]
	if l == nil {
		return m.linkAdded(c)
	}
	if c.MTU != 0 {
		l.MTU = c.MTU
		if c.Dev == xfrm.Red {
			m.redMTU = &c.Pos
		}
	}
	if c.Address != nil {
		l.Address = c.Address
	}
	if c.Up != nil {
		l.Down = !*c.Up
	}
	if c.Promisc != nil {
		l.Promisc = *c.Promisc
	}
	if c.Master != nil {
		return m.master(c, l)
	}
	return nil
}

func (m *Model) route(c xfrm.Route) error {
	if v, err := m.vrfOfRoute(c); v != nil || err != nil {
		if err == nil {
			c.VRF, c.Table = "", 0
			err = m.inside(v, func(own *Model) error { return own.route(c) })
		}
		return err
	}
	var place Place
	var err error
	if c.Encap {
		if place = (Place{Dev: Tunnels}); !c.Del && !learned.Treeable(c.Prefix) {
			err = tooLongForTree(c)
		}
	} else if m.Interface(c.Dev) != nil {
		if place = (Place{Dev: c.Dev}); !c.Del {
			err = checkInterfaceRoute(c)
		}
	} else if c.Dev != "" {
		place, err = m.place(c.Dev, c.Pos)
	}
	if err != nil {
		return err
	}
	if c.Del {
		before := len(m.Routes)
		m.Routes = slices.DeleteFunc(m.Routes, func(r Route) bool {
			return r.Prefix == c.Prefix && (c.Dev == "" || place == r.Place) && (!c.Via.IsValid() || c.Via == r.Via)
		})
		if len(m.Routes) == before {
			return xfrm.Errorf(c.Pos, "there is no route to %s", c.Prefix)
		}
		return nil
	}
	if c.Via.IsValid() && c.Via.IsUnspecified() {
		return xfrm.Errorf(c.Pos, "the gateway %s is no station: give its address, or leave out via", c.Via)
	}
	r := Route{c.Prefix, c.Via, place, c.MTU}
	if r.Dev == "" {
		if r.Place = m.PlaceOf(r.Via); r.Dev == "" {
			return xfrm.Errorf(c.Pos, "no device has a network with the gateway %s: name the device (dev red or dev black)", r.Via)
		}
	}
	for i, old := range m.Routes {
		if old.Prefix != r.Prefix || old.Dev != r.Dev {
			continue
		}
		if !c.Replace {
			return xfrm.Errorf(c.Pos, "there is a route to %s on %s already", r.Prefix, old.Place)
		}
		m.Routes[i] = r
		return m.checkHop(r.Via, r.Dev, c.Pos)
	}
	m.Routes = append(m.Routes, r)
	return m.checkHop(r.Via, r.Dev, c.Pos)
}

// checkInterfaceRoute refuses a route to an XFRM interface that the chip cannot have.
func checkInterfaceRoute(c xfrm.Route) error {
	switch {
	case c.Via.IsValid():
		return xfrm.Errorf(c.Pos, "a route to the XFRM interface %s has no gateway: leave out via %s", c.Dev, c.Via)
	case c.MTU != 0:
		return xfrm.Errorf(c.Pos, "a route to the XFRM interface %s has no mtu: give it to the route to the other end of its tunnel", c.Dev)
	case c.Prefix.Addr().IsMulticast():
		return xfrm.Errorf(c.Pos, "packets to groups are never routed to an XFRM interface: leave the route to %s out", c.Prefix)
	case !learned.Treeable(c.Prefix):
		return tooLongForTree(c)
	}
	return nil
}

func tooLongForTree(c xfrm.Route) error {
	return xfrm.Errorf(c.Pos, "the route to %s is longer than /64, which the tree of prefixes cannot hold: give a shorter one", c.Prefix)
}

// PlaceOf finds the device whose network an address is in. A link-local address may be at any.
func (m *Model) PlaceOf(addr netip.Addr) Place {
	for _, a := range m.Addrs {
		if a.Prefix.Contains(addr) && !addr.IsLinkLocalUnicast() {
			return a.Place
		}
	}
	return Place{}
}

func (m *Model) neigh(c xfrm.Neigh) error {
	if v := m.vrfOf(c.Dev); v != nil {
		return m.inside(v, func(own *Model) error { return own.neigh(c) })
	}
	place, err := m.place(c.Dev, c.Pos)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(m.Neighs, func(n Neigh) bool { return n.IP == c.IP && n.Dev == place.Dev })
	switch {
	case !c.Del && c.IP.IsUnspecified():
		return xfrm.Errorf(c.Pos, "the neighbour %s is no station: give its address", c.IP)
	case c.Del && (i < 0 || m.Neighs[i].Place != place):
		return xfrm.Errorf(c.Pos, "%s has no neighbour %s", c.Dev, c.IP)
	case c.Del:
		m.Neighs = slices.Delete(m.Neighs, i, i+1)
		return nil
	case i < 0:
		m.Neighs = append(m.Neighs, Neigh{c.IP, place, c.MAC})
	case m.Neighs[i].Place != place:
		return xfrm.Errorf(c.Pos, "%s is a neighbour on %s already: a next hop is on one device of a port", c.IP, m.Neighs[i].Place)
	case !c.Replace && m.Neighs[i].MAC != c.MAC:
		return xfrm.Errorf(c.Pos, "%s has a neighbour %s already, with another address: write `neigh replace`", c.Dev, c.IP)
	default:
		m.Neighs[i].MAC = c.MAC
	}
	return m.checkHop(c.IP, place.Dev, c.Pos)
}
