// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// maxTags is how many tags a next-hop row holds.
const maxTags = 2

// place finds a device: a port or a VLAN.
func (m *Model) place(dev string, pos xfrm.Pos) (Place, error) {
	if m.Links[dev] != nil {
		return Place{Dev: dev}, nil
	}
	if v := m.vlan(dev); v != nil {
		return v.Place, nil
	}
	return Place{}, xfrm.Errorf(pos, "unknown device %q: the devices are red and black, and there is no such VLAN", dev)
}

func (m *Model) vlan(name string) *VLAN {
	i := slices.IndexFunc(m.VLANs, func(v VLAN) bool { return v.Place.VLAN == name })
	if name == "" || i < 0 {
		return nil
	}
	return &m.VLANs[i]
}

// addVLAN adds a VLAN's device.
func (m *Model) addVLAN(c xfrm.VLAN) error {
	parent, err := m.place(c.Parent, c.Pos)
	if err != nil {
		return err
	}
	if m.hasDevice(c.Name) {
		return xfrm.Errorf(c.Pos, "there is a device %s already", c.Name)
	}
	v := VLAN{Place{parent.Dev, c.Name}, parent.VLAN, c.Protocol, c.ID}
	for _, other := range m.VLANs {
		if other.Dev == v.Dev && other.Parent == v.Parent && other.Protocol == v.Protocol && other.ID == v.ID {
			return xfrm.Errorf(c.Pos, "%s has a device with protocol %s id %d already, %s", c.Parent, c.ProtocolName(), c.ID, other)
		}
	}
	if len(m.TagsOf(v.Parent))/4 == maxTags {
		return xfrm.Errorf(c.Pos, "%s is inside a VLAN that is inside another already: a frame has %d tags at most", c.Name, maxTags)
	}
	m.VLANs = append(m.VLANs, v)
	return nil
}

// deleteVLAN deletes a VLAN's device that nothing uses.
func (m *Model) deleteVLAN(name string, pos xfrm.Pos) error {
	uses := func(p Place) bool { return p.VLAN == name }
	if slices.ContainsFunc(m.Addrs, func(a Address) bool { return uses(a.Place) }) ||
		slices.ContainsFunc(m.Routes, func(r Route) bool { return uses(r.Place) }) ||
		slices.ContainsFunc(m.Neighs, func(n Neigh) bool { return uses(n.Place) }) ||
		slices.ContainsFunc(m.VLANs, func(v VLAN) bool { return v.Parent == name }) {
		return xfrm.Errorf(pos, "%s has addresses, routes, neighbours or VLANs inside it: delete them first", name)
	}
	m.VLANs = slices.DeleteFunc(m.VLANs, func(v VLAN) bool { return uses(v.Place) })
	return nil
}

// TagsOf gives the tags of frames to a VLAN in wire order, the outermost first (IEEE 802.1Q 9.5:
// TPID; priority 0, VID).
func (m *Model) TagsOf(vlan string) []byte {
	v := m.vlan(vlan)
	if v == nil {
		return nil
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(m.TagsOf(v.Parent), v.Protocol), v.ID)
}

// HopVLAN is the VLAN of a next hop: from its neighbour line, else from the route by it, else from
// the longest network or route that it is straight behind.
func (m *Model) HopVLAN(dev string, hop netip.Addr) string {
	for _, n := range m.Neighs {
		if n.Dev == dev && n.IP == hop {
			return n.VLAN
		}
	}
	for _, r := range m.Routes {
		if r.Dev == dev && r.Via == hop {
			return r.VLAN
		}
	}
	if best := m.best(dev, netip.PrefixFrom(hop, hop.BitLen())); !best.Via.IsValid() {
		return best.VLAN
	}
	return ""
}

// checkHop refuses a gateway that is a neighbour in one VLAN and routed to by another.
func (m *Model) checkHop(hop netip.Addr, dev string, pos xfrm.Pos) error {
	for _, n := range m.Neighs {
		for _, r := range m.Routes {
			if n.IP == hop && r.Via == hop && n.Dev == dev && r.Dev == dev && n.VLAN != r.VLAN {
				return xfrm.Errorf(pos, "the gateway %s of %s is on %s by its route, and on %s by its neighbour line: name one device in both", hop, r.Prefix, r.Place, n.Place)
			}
		}
	}
	return nil
}
