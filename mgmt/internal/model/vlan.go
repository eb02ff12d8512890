// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"

	"sallyport/mgmt/internal/learned"
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
	v := VLAN{Place{parent.Dev, c.Name}, parent.VLAN, c.Protocol, c.ID, ""}
	for _, other := range m.VLANs {
		if other.Dev == v.Dev && other.Parent == v.Parent && other.Protocol == v.Protocol && other.ID == v.ID {
			return xfrm.Errorf(c.Pos, "%s has a device with protocol %s id %d already, %s", c.Parent, c.ProtocolName(), c.ID, other)
		}
	}
	if around := m.vlan(v.Parent); around != nil && around.VRF != "" {
		return xfrm.Errorf(c.Pos, "%s is in the VRF %s, whose VLANs have no VLAN %s inside: frames go by their outer tag", around, around.VRF, c.Name)
	}
	for _, other := range m.VLANs {
		if other.VRF != "" && sameOuter(other, v) {
			return xfrm.Errorf(c.Pos, "%s has the id %d of %s, which is in the VRF %s: the VRF takes frames of that id, of either protocol", c.Name, c.ID, other, other.VRF)
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
	if v := m.vlan(name); v.VRF != "" {
		return xfrm.Errorf(pos, "%s is in the VRF %s: take it out first, `link set %s nomaster`", name, v.VRF, name)
	}
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
// the longest network or route that it is straight behind. In a VRF, Linux's routes count too. An
// address that is not valid is the default next hop, in no VLAN.
func (m *Model) HopVLAN(dev string, hop netip.Addr) string {
	if !hop.IsValid() {
		return "" // the default next hop
	}
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
	if id, err := strconv.ParseUint(hop.Zone(), 10, 16); err == nil {
		return m.ownVLAN(uint16(id))
	}
	all := netip.PrefixFrom(hop, hop.BitLen())
	best := m.best(dev, all)
	if m.vrfName != "" {
		connected := func(r *learned.Route) bool { return r.Type == "" && len(r.Via) == 0 }
		if r := m.FromLinux[dev].Longest(all, connected); r != nil && (!best.Prefix.IsValid() || best.Prefix.Bits() < r.Prefix.Bits()) {
			return m.ownVLAN(r.VLAN)
		}
	}
	if !best.Via.IsValid() {
		return best.VLAN
	}
	return ""
}

// ownVLAN is the VLAN of an ID that the VRF has whose inside the model is; empty: it has none.
func (m *Model) ownVLAN(id uint16) string {
	i := slices.IndexFunc(m.VLANs, func(v VLAN) bool { return v.VRF != "" && v.VRF == m.vrfName && v.ID == id })
	if i < 0 {
		return ""
	}
	return m.VLANs[i].Place.VLAN
}

// VLANID is the ID of a VLAN's own tag, and its EtherType; 0 if there is no such VLAN.
func (m *Model) VLANID(name string) (id, protocol uint16) {
	if v := m.vlan(name); v != nil {
		id, protocol = v.ID, v.Protocol
	}
	return id, protocol
}

// checkHop refuses a gateway that is a neighbour in one VLAN and routed to by another.
func (m *Model) checkHop(hop netip.Addr, dev string, pos xfrm.Pos) error {
	for _, n := range m.Neighs {
		if n.IP != hop || n.Dev != dev {
			continue
		}
		for _, r := range m.Routes {
			if r.Via == hop && r.Dev == dev && n.VLAN != r.VLAN {
				return xfrm.Errorf(pos, "the gateway %s of %s is on %s by its route, and on %s by its neighbour line: name one device in both", hop, r.Prefix, r.Place, n.Place)
			}
		}
	}
	return nil
}

// MostVRFs is how many networks the inner chip has besides network 0.
const MostVRFs = 63

// noVRF refuses a name that is of no VRF.
func (m *Model) noVRF(name string, pos xfrm.Pos) error {
	if v := m.vlan(name); v != nil && v.VRF != "" {
		return xfrm.Errorf(pos, "%s is a VLAN of the VRF %s: name the VRF", name, v.VRF)
	} else if v != nil {
		return xfrm.Errorf(pos, "%s is a VLAN of no VRF: write `link set %s master NAME` and name the VRF", name, name)
	}
	return xfrm.Errorf(pos, "there is no VRF %s: write `link add %s type vrf table N` first", name, name)
}

// vrf is the VRF of a name, or nil.
func (m *Model) vrf(name string) *VRF {
	i := slices.IndexFunc(m.VRFs, func(v VRF) bool { return v.Name == name })
	if name == "" || i < 0 {
		return nil
	}
	return &m.VRFs[i]
}

// vrfOf is the VRF that has a VLAN or an XFRM interface, or nil.
func (m *Model) vrfOf(dev string) *VRF {
	if v := m.vlan(dev); v != nil {
		return m.vrf(v.VRF)
	}
	if i := m.Interface(dev); i != nil {
		return m.vrf(i.VRF)
	}
	return nil
}

// NetworkOf is the number of the network of a VRF; that of none is 0.
func (m *Model) NetworkOf(vrf string) int {
	if v := m.vrf(vrf); v != nil {
		return v.Number
	}
	return 0
}

// Inside is the model as packets of a VRF meet it: with its addresses, routes and hosts alone.
// Policies and SAs are not in it. That of no VRF is the model itself.
func (m *Model) Inside(vrf string) *Model {
	v := m.vrf(vrf)
	if v == nil {
		return m
	}
	routes := noRoutes()
	if own := m.FromLinux[learned.OfTable(v.Table, v.Name)]; own != nil {
		routes[xfrm.Red] = own
	}
	if own := m.FromLinux[learned.SteeringOf(v.Table, v.Name)]; own != nil {
		routes[learned.Steering] = own
	}
	return &Model{
		SAs: NewSAs(), Policies: NewPolicies(), FromLinux: routes, Changes: newChanges(), vrfName: v.Name, number: v.Number,
		Network: Network{Addrs: v.Addrs, Routes: v.Routes, Neighs: v.Neighs, Links: m.Links, VLANs: m.VLANs, Learned: m.Learned, Interfaces: m.InterfacesOf(v.Name)},
	}
}

// VRFName is that of the VRF whose inside the model is; else empty.
func (m *Model) VRFName() string { return m.vrfName }

// Insides are the models of all networks, by number: the model itself, and those of its VRFs.
func (m *Model) Insides() map[int]*Model {
	all := map[int]*Model{0: m}
	for _, v := range m.VRFs {
		all[v.Number] = m.Inside(v.Name)
	}
	return all
}

// in changes addresses, routes or hosts of a VRF of a name, or of none.
func (m *Model) in(vrf string, change func(*Model) error) error {
	if v := m.vrf(vrf); v != nil {
		return m.inside(v, change)
	}
	return change(m)
}

// inside changes addresses, routes or hosts of a VRF.
func (m *Model) inside(v *VRF, change func(*Model) error) error {
	own := m.Inside(v.Name)
	err := change(own)
	v.Addrs, v.Routes, v.Neighs = own.Addrs, own.Routes, own.Neighs
	if own.redMTU != nil {
		m.redMTU = own.redMTU
	}
	return err
}

// vrfOfRoute is the VRF of a route: that of its device, or, without one, that which it names. A
// route names no other VRF than that of its device.
func (m *Model) vrfOfRoute(c xfrm.Route) (of *VRF, err error) {
	of = m.vrfOf(c.Dev)
	if c.VRF != "" {
		named := m.vrf(c.VRF)
		switch {
		case named == nil:
			return nil, m.noVRF(c.VRF, c.Pos)
		case c.Dev != "" && named != of && !c.Encap:
			return nil, xfrm.Errorf(c.Pos, "%s is not in the VRF %s: the routes of a VRF are on its VLANs and XFRM interfaces", c.Dev, c.VRF)
		}
		of = named
	}
	switch {
	case c.Table == 0 || c.Table == xfrm.MainTable && of == nil || of != nil && c.Table == of.Table:
		return of, nil
	case c.Dev != "" && !c.Encap || of != nil:
		return nil, xfrm.Errorf(c.Pos, "the table %d is not that of the device of the route to %s: the routes of a VRF have its table", c.Table, c.Prefix)
	}
	i := slices.IndexFunc(m.VRFs, func(v VRF) bool { return v.Table == c.Table })
	if i < 0 {
		return nil, xfrm.Errorf(c.Pos, "no VRF has the table %d: write `link add NAME type vrf table %d` first", c.Table, c.Table)
	}
	return &m.VRFs[i], nil
}

// VRFOf is the VRF that frames from red are in by the ID of their outer tag; empty: none.
func (m *Model) VRFOf(id uint16) string {
	i := slices.IndexFunc(m.VLANs, func(v VLAN) bool { return v.VRF != "" && v.ID == id })
	if i < 0 {
		return ""
	}
	return m.VLANs[i].VRF
}

// addVRF adds a VRF. It gets the number that it had up to now, or one that none had: packets of two
// VRFs are never in one network, not even while the chip is written. The numbers go round, for
// frames of the last VRF that had one may still wait for the CPU, with that number alone.
func (m *Model) addVRF(c xfrm.VRF) error {
	if m.hasDevice(c.Name) {
		return xfrm.Errorf(c.Pos, "there is a device %s already", c.Name)
	}
	taken := map[int]bool{0: true}
	for _, number := range m.Changes.Networks {
		taken[number] = true
	}
	for _, v := range m.VRFs {
		if v.Table == c.Table {
			return xfrm.Errorf(c.Pos, "the VRF %s has the table %d already: give this one another", v.Name, c.Table)
		}
		taken[v.Number] = true
	}
	if len(m.VRFs) == MostVRFs {
		return xfrm.Errorf(c.Pos, "no room for the VRF %s: the inner chip has %d networks for VRFs, and all are in use", c.Name, MostVRFs)
	}
	number, had := m.Changes.Networks[c.Name]
	for next := 1; !had && next <= MostVRFs && number == 0; next++ {
		if n := (m.LastNetwork+next-1)%MostVRFs + 1; !taken[n] {
			number, m.LastNetwork = n, n
		}
	}
	if number == 0 {
		return xfrm.Errorf(c.Pos, "no room for the VRF %s beside those of before: delete VRFs in one batch, and add others in the next", c.Name)
	}
	m.VRFs = append(m.VRFs, VRF{Name: c.Name, Table: c.Table, Number: number})
	return nil
}

// deleteVRF deletes a VRF that nothing uses.
func (m *Model) deleteVRF(name string, pos xfrm.Pos) error {
	for _, v := range m.VLANs {
		if v.VRF == name {
			return xfrm.Errorf(pos, "the VRF %s has %s: take it out first, `link set %s nomaster`", name, v, v)
		}
	}
	if own := m.InterfacesOf(name); len(own) > 0 {
		return xfrm.Errorf(pos, "the VRF %s has %s: take it out first, `link set %s nomaster`", name, own[0].Name, own[0].Name)
	}
	for p := range m.Policies.All() {
		if p.VRF == name {
			return xfrm.Errorf(pos, "the VRF %s has the policy %s dir %s: delete its policies first", name, p.Selector, p.Dir)
		}
	}
	m.VRFs = slices.DeleteFunc(m.VRFs, func(v VRF) bool { return v.Name == name })
	m.forgetApart()
	return nil
}

// sameOuter says whether frames of two VLANs have outer tags of one ID at one port.
func sameOuter(a, b VLAN) bool {
	return a.Dev == b.Dev && a.Parent == "" && b.Parent == "" && a.ID == b.ID
}

// enslave puts a VLAN with its addresses, routes and hosts into a VRF, or takes it out.
func (m *Model) enslave(c xfrm.Link) error {
	v := m.vlan(c.Dev)
	switch {
	case v == nil:
		return xfrm.Errorf(c.Pos, "%s cannot go into a VRF: a VRF has VLANs of red and XFRM interfaces alone", c.Dev)
	case *c.Master == v.VRF:
		return nil
	case *c.Master == "":
	case m.vrf(*c.Master) == nil:
		return m.noVRF(*c.Master, c.Pos)
	case v.Dev != xfrm.Red || v.Parent != "" || v.ID == 0:
		return xfrm.Errorf(c.Pos, "%s cannot go into the VRF %s: a VRF has VLANs of red alone, of one tag and an id from 1", v, *c.Master)
	}
	for _, other := range m.VLANs {
		if other.Parent == v.VLANName() || sameOuter(other, *v) && other.VLANName() != v.VLANName() {
			return xfrm.Errorf(c.Pos, "%s cannot go into a VRF beside %s, whose frames have the same outer tag: delete that first", v, other)
		}
	}
	return m.move(v, *c.Master, c.Pos)
}

// VLANName is the name of the VLAN's own device.
func (v VLAN) VLANName() string { return v.Place.VLAN }

// move takes what a VLAN has from one network to another, where it must not overlap with others.
func (m *Model) move(v *VLAN, vrf string, pos xfrm.Pos) (err error) {
	var addrs []Address
	var routes []Route
	var neighs []Neigh
	at := v.Place
	leave := func(own *Model) error {
		own.Addrs, addrs = parted(own.Addrs, func(a Address) bool { return a.Place == at })
		own.Routes, routes = parted(own.Routes, func(r Route) bool { return r.Place == at })
		own.Neighs, neighs = parted(own.Neighs, func(n Neigh) bool { return n.Place == at })
		return nil
	}
	enter := func(own *Model) error {
		for _, a := range addrs {
			if err := own.addrApart(vrf, xfrm.Addr{At: xfrm.At{Pos: pos}, Prefix: a.Prefix, Dev: at.VLAN}); err != nil {
				return err
			}
		}
		for _, r := range routes {
			if err := own.route(xfrm.Route{At: xfrm.At{Pos: pos}, Prefix: r.Prefix, Via: r.Via, Dev: at.VLAN, MTU: r.MTU}); err != nil {
				return err
			}
		}
		for _, n := range neighs {
			if err := own.neigh(xfrm.Neigh{At: xfrm.At{Pos: pos}, IP: n.IP, MAC: n.MAC, Dev: at.VLAN}); err != nil {
				return err
			}
		}
		return nil
	}
	if err = m.in(v.VRF, leave); err == nil {
		v.VRF = vrf
		err = m.in(vrf, enter)
	}
	return err
}

// addrApart adds or removes an address in a VRF, where no two VLANs have one network.
func (m *Model) addrApart(vrf string, c xfrm.Addr) error {
	for _, a := range m.Addrs {
		if vrf != "" && !c.Del && a.VLAN != c.Dev && a.Prefix.Overlaps(c.Prefix) && !c.Prefix.Addr().IsLinkLocalUnicast() {
			return xfrm.Errorf(c.Pos, "%s on %s overlaps %s on %s: the VLANs of the VRF %s are one network", c.Prefix, c.Dev, a.Prefix, a.Place, vrf)
		}
	}
	return m.addr(c)
}

// parted gives those of a list that stay, and those that go.
func parted[V any](list []V, goes func(V) bool) (stay, gone []V) {
	for _, v := range list {
		if goes(v) {
			gone = append(gone, v)
		} else {
			stay = append(stay, v)
		}
	}
	return stay, gone
}
