// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/vishvananda/netlink"

	"sallyport/mgmt/internal/learned"
)

// members are the VLANs of Linux that are in one VRF in Linux and in the box.
type members struct {
	names  map[uint16]string // of the devices, by ID
	own    map[uint16]uint32 // tables of the VRFs that VLANs are in in the box, by ID
	tables map[uint32]bool   // whose routes are those of a VRF of the box
	xfrm   map[string]uint32 // tables of the VRFs that XFRM interfaces are in in the box, by name
	// steering are tables all of whose routes count, for their VRF has an XFRM interface in the box
	// or in Linux.
	steering map[uint32]bool

	mu sync.Mutex
	// ignored are what does not fit, each a sentence, and more how many are not named.
	ignored []string
	more    int
}

// mostIgnored is how many things that do not fit are named.
const mostIgnored = 64

// ignore notes something that does not fit, once.
func (m *members) ignore(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case slices.Contains(m.ignored, text):
	case len(m.ignored) < mostIgnored:
		m.ignored = append(m.ignored, text)
	default:
		m.more++
	}
}

// match compares what Linux has with the VRFs of the box. A VLAN that is in no device of Linux is
// taken: rules of Linux may lead its packets to the table of the VRF.
func (v *vlans) match(vrfs []VRF) *members {
	m := &members{names: map[uint16]string{}, own: map[uint16]uint32{}, tables: map[uint32]bool{}, xfrm: map[string]uint32{}, steering: map[uint32]bool{}}
	byTable, byName, byID := map[uint32]VRF{}, map[string]VRF{}, map[uint16]VRF{}
	for _, of := range vrfs {
		byTable[of.Table], byName[of.Name], m.tables[of.Table] = of, of, true
		for id := range of.VLANs {
			byID[id], m.own[id] = of, of.Table
		}
		for _, name := range of.Interfaces {
			m.xfrm[name] = of.Table
		}
	}
	for _, index := range slices.Sorted(maps.Keys(v.masters)) {
		l := v.masters[index]
		own, named := byName[l.name]
		other, taken := byTable[l.table]
		switch {
		case l.kind != "VRF" || l.name == other.Name:
		case named:
			m.tables[own.Table] = false
			m.ignore("the VRF %s has the table %d in Linux, and %d in the box: its routes and hosts are ignored", l.name, l.table, own.Table)
		case taken:
			m.tables[l.table] = false
			m.ignore("the table %d is that of the VRF %s in Linux, and of %s in the box: its routes and hosts are ignored", l.table, l.name, other.Name)
		default:
			m.ignore("the box has no VRF %s with the table %d: Linux's routes there are ignored", l.name, l.table)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(v.devices)) {
		l := v.devices[index]
		own, has := byID[l.id]
		above, in := v.masters[l.master]
		switch {
		case !has && above.kind != "VRF":
			continue // of no VRF here or there
		case !has:
			m.ignore("the device %s of VLAN %d is in the VRF %s in Linux, and in none in the box: its hosts and routes are ignored", l.name, l.id, above.name)
		case own.VLANs[l.id].Protocol != l.protocol:
			m.ignore("the device %s has the protocol 0x%04x in Linux, and VLAN %d has 0x%04x in the box: its hosts and routes are ignored", l.name, l.protocol, l.id, own.VLANs[l.id].Protocol)
		case in && above.kind != "VRF":
			m.ignore("the device %s of VLAN %d is in the %s %s in Linux, and in the VRF %s in the box: its hosts and routes are ignored", l.name, l.id, above.kind, above.name, own.Name)
		case in && above.table != own.Table:
			m.ignore("the device %s of VLAN %d is in the VRF %s in Linux, and in %s in the box: its hosts and routes are ignored", l.name, l.id, above.name, own.Name)
		case m.tables[own.Table]:
			m.names[l.id] = l.name
		}
	}
	m.matchTunnels(v, byTable)
	return m
}

// matchTunnels finds the tables that steer. Without devices of XFRM interfaces there are none.
func (m *members) matchTunnels(v *vlans, byTable map[uint32]VRF) {
	for _, index := range slices.Sorted(maps.Keys(v.tunnels)) {
		l := v.tunnels[index]
		own, has := m.xfrm[l.name]
		if has {
			m.steering[own] = m.tables[own]
		}
		above, in := v.masters[l.master]
		switch {
		case !in || has && above.table == own && above.kind == "VRF":
			continue
		case has:
			m.ignore("the device %s is in the %s %s in Linux, and in the VRF %s in the box: Linux's routes over it in another table than %d lead to no tunnel", l.name, above.kind, above.name, byTable[own].Name, own)
		default:
			m.ignore("the device %s is in the %s %s in Linux, and in no VRF in the box: Linux's routes over it there lead to no tunnel", l.name, above.kind, above.name)
		}
		if above.kind == "VRF" && m.tables[above.table] {
			m.steering[above.table] = true // the interface may come to it in the box
		}
	}
}

// Ignored are what Linux has of VRFs that does not fit the box's, each a sentence; none while they
// are not known.
func (d *Devices) Ignored() []string {
	m := d.members.Load()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Clone(m.ignored)
	if m.more > 0 {
		out = append(out, "further things of Linux's VRFs do not fit")
	}
	return out
}

// Fits says whether a VLAN of red has a device in Linux that is in the same VRF as in the box.
func (d *Devices) Fits(id uint16) bool { return d.nameOf(id) != "" }

// nameOf is Linux's device of a VLAN of red that fits; empty: none.
func (d *Devices) nameOf(id uint16) string {
	if m := d.members.Load(); m != nil {
		return m.names[id]
	}
	return ""
}

// leads is how routes of a table are read: those of a VRF lead out of its VLANs. What others have
// to do with VLANs of VRFs is named.
func (m *members) leads(all *vlans, number int) leadsTo {
	table := uint32(number)
	return func(to *learned.Route, ways []*netlink.NexthopInfo) (found bool) {
		found = to.Type != "" && m.tables[table]
		for _, way := range ways {
			if t := all.xfrm.of(way.LinkIndex); t != nil && m.tables[table] && m.xfrm[t.name] != table {
				m.ignore("Linux has routes out of %s in the table %d, whose VRF does not have the interface in the box: they lead to no tunnel", t.name, table)
			}
			device := all.devices[way.LinkIndex]
			own, apart := m.own[device.id]
			switch {
			case !apart:
				continue
			case own != table:
				m.ignore("Linux has routes out of %s in the table %d, which is not that of the VRF of VLAN %d in the box: they are ignored", device.name, table, device.id)
				continue
			case m.names[device.id] != device.name:
				continue
			}
			found = true
			via, is := gatewayOf(way)
			if !is {
				to.VLAN = device.id
				continue
			}
			if via.IsLinkLocalUnicast() {
				via = via.WithZone(strconv.Itoa(int(device.id))) // another VLAN may have it, too
			}
			if !slices.Contains(to.Via, via) {
				to.Via = append(to.Via, via)
			}
		}
		slices.SortFunc(to.Via, netip.Addr.Compare)
		to.Via = to.Via[:min(len(to.Via), mostGateways)]
		return found
	}
}

// steers is how all routes of a table are read, as those of the main table are ([Devices.Routes]):
// to the first XFRM interface, unless it leads out of a VLAN of the VRF too, or else elsewhere. The
// box knows whether the interface is in the VRF.
func (m *members) steers(all *vlans, number int) leadsTo {
	table := uint32(number)
	if !m.steering[table] {
		return nil
	}
	return all.xfrm.steer(func(way *netlink.NexthopInfo) bool {
		device, vlan := all.devices[way.LinkIndex]
		return vlan && m.own[device.id] == table && m.names[device.id] == device.name
	})
}
