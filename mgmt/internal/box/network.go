package box

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// addr adds or removes an address of a port.
func (m *Model) addr(c xfrm.Addr) error {
	entry := Address{c.Prefix, c.Dev}
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
		if a.Dev != c.Dev && a.Prefix.Overlaps(c.Prefix) && !a.Prefix.IsSingleIP() && !c.Prefix.IsSingleIP() && !c.Prefix.Addr().IsLinkLocalUnicast() {
			return xfrm.Errorf(c.Pos, "%s on %s overlaps %s on %s: red and black are different networks", c.Prefix, c.Dev, a.Prefix, a.Dev)
		}
	}
	m.Addrs = append(m.Addrs, entry)
	return nil
}

func (m *Model) link(c xfrm.Link) error {
	l := m.Links[c.Dev]
	if l == nil {
		return m.linkBridge(c)
	}
	if c.MTU != 0 {
		l.MTU = c.MTU
	}
	if c.Address != nil {
		l.Address = c.Address
	}
	if c.Up != nil {
		l.Down = !*c.Up
	}
	if c.Master != nil {
		return m.master(c, l)
	}
	return nil
}

func (m *Model) route(c xfrm.Route) error {
	if c.Del {
		before := len(m.Routes)
		m.Routes = slices.DeleteFunc(m.Routes, func(r Route) bool {
			return r.Prefix == c.Prefix && (c.Dev == "" || c.Dev == r.Dev) && (!c.Via.IsValid() || c.Via == r.Via)
		})
		if len(m.Routes) == before {
			return xfrm.Errorf(c.Pos, "there is no route to %s", c.Prefix)
		}
		return nil
	}
	r := Route{c.Prefix, c.Via, c.Dev, c.MTU}
	if r.Dev == "" {
		if r.Dev = m.deviceOf(r.Via); r.Dev == "" {
			return xfrm.Errorf(c.Pos, "no device has a network with the gateway %s: name the device (dev red or dev black)", r.Via)
		}
	}
	for i, old := range m.Routes {
		if old.Prefix != r.Prefix || old.Dev != r.Dev {
			continue
		}
		if !c.Replace {
			return xfrm.Errorf(c.Pos, "there is a route to %s on %s already", r.Prefix, r.Dev)
		}
		m.Routes[i] = r
		return nil
	}
	m.Routes = append(m.Routes, r)
	return nil
}

// deviceOf finds the port whose network an address is in. A link-local address may be at either.
func (m *Model) deviceOf(addr netip.Addr) string {
	for _, a := range m.Addrs {
		if a.Prefix.Contains(addr) && !addr.IsLinkLocalUnicast() {
			return a.Dev
		}
	}
	return ""
}

func (m *Model) neigh(c xfrm.Neigh) error {
	i := slices.IndexFunc(m.Neighs, func(n Neigh) bool { return n.IP == c.IP && n.Dev == c.Dev })
	switch {
	case c.Del && i < 0:
		return xfrm.Errorf(c.Pos, "%s has no neighbour %s", c.Dev, c.IP)
	case c.Del:
		m.Neighs = slices.Delete(m.Neighs, i, i+1)
	case i < 0:
		m.Neighs = append(m.Neighs, Neigh{c.IP, c.Dev, c.MAC})
	case !c.Replace && m.Neighs[i].MAC != c.MAC:
		return xfrm.Errorf(c.Pos, "%s has a neighbour %s already, with another address: write `neigh replace`", c.Dev, c.IP)
	default:
		m.Neighs[i].MAC = c.MAC
	}
	return nil
}
