// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// Interface is the XFRM interface of a name, or nil.
func (m *Model) Interface(name string) *Interface {
	i := slices.IndexFunc(m.Interfaces, func(i Interface) bool { return i.Name == name })
	if name == "" || i < 0 {
		return nil
	}
	return &m.Interfaces[i]
}

// interfaceOf is the XFRM interface of an if_id, or nil.
func (m *Model) interfaceOf(ifID uint32) *Interface {
	i := slices.IndexFunc(m.Interfaces, func(i Interface) bool { return i.IfID == ifID })
	if i < 0 {
		return nil
	}
	return &m.Interfaces[i]
}

// InterfacesOf are the XFRM interfaces of a VRF, or of none.
func (m *Model) InterfacesOf(vrf string) (out []Interface) {
	for _, i := range m.Interfaces {
		if i.VRF == vrf {
			out = append(out, i)
		}
	}
	return out
}

// addInterface adds an XFRM interface. As in Linux, each has an if_id of its own.
func (m *Model) addInterface(c xfrm.Interface) error {
	if m.hasDevice(c.Name) {
		return xfrm.Errorf(c.Pos, "there is a device %s already", c.Name)
	}
	if other := m.interfaceOf(c.IfID); other != nil {
		return xfrm.Errorf(c.Pos, "the interface %s has if_id 0x%x already: give this one another", other.Name, c.IfID)
	}
	m.Interfaces = append(m.Interfaces, Interface{Name: c.Name, IfID: c.IfID})
	return nil
}

// deleteInterface deletes an XFRM interface that is in no VRF and that no written route leads to.
// Policies and SAs of its if_id stay, as in Linux.
func (m *Model) deleteInterface(name string, pos xfrm.Pos) error {
	if i := m.Interface(name); i.VRF != "" {
		return xfrm.Errorf(pos, "%s is in the VRF %s: take it out first, `link set %s nomaster`", name, i.VRF, name)
	}
	if slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Dev == name }) {
		return xfrm.Errorf(pos, "%s has routes: delete them first", name)
	}
	m.Interfaces = slices.DeleteFunc(m.Interfaces, func(i Interface) bool { return i.Name == name })
	return nil
}

// enslaveInterface puts an XFRM interface with its routes into a VRF, or takes it out. Policies and
// SAs of its if_id have its network, so none may be there.
func (m *Model) enslaveInterface(c xfrm.Link, i *Interface) error {
	vrf := *c.Master
	switch {
	case vrf == i.VRF:
		return nil
	case vrf != "" && m.vrf(vrf) == nil:
		return m.noVRF(vrf, c.Pos)
	case m.replacing: // checkReplaced looks in the end
		return m.moveInterface(i, vrf, c.Pos)
	}
	for p := range m.Policies.All() {
		if p.IfID == i.IfID {
			return xfrm.Errorf(c.Pos, "%s cannot change its VRF beside the policy %s dir %s of its if_id 0x%x: delete all policies and SAs of that if_id first", i.Name, p.Selector, p.Dir, i.IfID)
		}
	}
	for sa := range m.SAs.All() {
		if sa.IfID == i.IfID {
			return xfrm.Errorf(c.Pos, "%s cannot change its VRF beside the SA dst %s spi 0x%x of its if_id 0x%x: delete all SAs of that if_id first", i.Name, sa.Dst, sa.SPI, i.IfID)
		}
	}
	return m.moveInterface(i, vrf, c.Pos)
}

// moveInterface takes the routes of an XFRM interface from one network to another.
func (m *Model) moveInterface(i *Interface, vrf string, pos xfrm.Pos) error {
	var routes []Route
	err := m.in(i.VRF, func(own *Model) error {
		own.Routes, routes = parted(own.Routes, func(r Route) bool { return r.Dev == i.Name })
		return nil
	})
	if err != nil {
		return err
	}
	i.VRF = vrf
	return m.in(vrf, func(own *Model) error {
		for _, r := range routes {
			if err := own.route(xfrm.Route{At: xfrm.At{Pos: pos}, Prefix: r.Prefix, Dev: i.Name}); err != nil {
				return err
			}
		}
		return nil
	})
}

// bind gives the selector of a policy with an if_id the VRF of its interface, which the selector
// need not name. Each command on one policy comes by here: charon knows the if_id alone.
func (m *Model) bind(sel *xfrm.Selector, ifID uint32, pos xfrm.Pos) error {
	if ifID == 0 {
		return nil
	}
	i := m.interfaceOf(ifID)
	switch {
	case i == nil && sel.VRF != "":
		return xfrm.Errorf(pos, "no XFRM interface has if_id 0x%x, so its policies are in no VRF: leave out dev %s, or write `link add NAME type xfrm if_id 0x%x` and `link set NAME master %s` first", ifID, sel.VRF, ifID, sel.VRF)
	case i == nil:
		return nil
	case sel.VRF == "":
		sel.VRF = i.VRF
	case i.VRF == "":
		return xfrm.Errorf(pos, "the interface %s of if_id 0x%x is in no VRF: leave out dev %s, or write `link set %s master %s` first", i.Name, ifID, sel.VRF, i.Name, sel.VRF)
	case sel.VRF != i.VRF:
		return xfrm.Errorf(pos, "the interface %s of if_id 0x%x is in the VRF %s, not in %s: name that one, or none", i.Name, ifID, i.VRF, sel.VRF)
	}
	return nil
}

// FindPolicy is the policy of the selector, the direction and the if_id of a filter, or nil.
func (m *Model) FindPolicy(f xfrm.PolicyFilter, pos xfrm.Pos) (*Policy, error) {
	if err := m.bind(&f.Selector, f.IfID, pos); err != nil {
		return nil, err
	}
	return m.Policies.Find(f.Selector, f.Dir, f.IfID), nil
}

// checkReplaced refuses SAs whose XFRM interface is in another VRF than before Replace: the SAs
// stay, and have the network of their interface.
func (m *Model) checkReplaced(before []Interface) error {
	old := map[uint32]string{}
	for _, i := range before {
		old[i.IfID] = i.VRF
	}
	now := map[uint32]string{}
	for _, i := range m.Interfaces {
		now[i.IfID] = i.VRF
	}
	for sa := range m.SAs.All() {
		if old[sa.IfID] != now[sa.IfID] {
			return xfrm.Errorf(xfrm.Pos{}, "the interface of if_id 0x%x would change from the VRF %q to %q beside the SA dst %s spi 0x%x: delete all SAs of that if_id first", sa.IfID, old[sa.IfID], now[sa.IfID], sa.Dst, sa.SPI)
		}
	}
	return nil
}
