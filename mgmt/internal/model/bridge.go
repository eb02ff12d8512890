// SPDX-License-Identifier: Apache-2.0

package model

import (
	"sallyport/mgmt/internal/xfrm"
)

// Bump says whether the box is a bump in the wire (RFC 4301, 3.3): a bridge over both ports, with
// ESP of the hosts at both ends on the way. checkBridge ensures that both ports are in it
// or neither.
func (m *Model) Bump() bool { return m.Links[xfrm.Red].Master != "" }

func (m *Model) addBridge(c xfrm.Bridge) error {
	switch {
	case m.Bridge != "":
		return xfrm.Errorf(c.Pos, "there is a bridge %s already: the box has two ports, and so one bridge", m.Bridge)
	case m.hasDevice(c.Name):
		return xfrm.Errorf(c.Pos, "there is a device %s already", c.Name)
	}
	m.Bridge = c.Name
	return nil
}

// hasDevice says whether there is a bridge, a VLAN's device, a VRF or an XFRM interface of a name.
func (m *Model) hasDevice(name string) bool {
	return m.Bridge == name || m.vlan(name) != nil || m.vrf(name) != nil || m.Interface(name) != nil
}

// deleteLink deletes the bridge, which takes its ports out, a VLAN's device, a VRF or an XFRM
// interface.
func (m *Model) deleteLink(c xfrm.LinkDelete) error {
	if m.vlan(c.Name) != nil {
		return m.deleteVLAN(c.Name, c.Pos)
	}
	if m.Interface(c.Name) != nil {
		return m.deleteInterface(c.Name, c.Pos)
	}
	if m.vrf(c.Name) != nil {
		return m.deleteVRF(c.Name, c.Pos)
	}
	if m.Bridge != c.Name {
		return xfrm.Errorf(c.Pos, "there is no bridge, VLAN, VRF or XFRM interface %s", c.Name)
	}
	m.Bridge = ""
	m.ungroup(c.Pos)
	return nil
}

// linkAdded is `link set NAME` of a bridge, a VLAN's device, a VRF or an XFRM interface: up, which
// asks for nothing, and of a VLAN or an XFRM interface the VRF that it goes into, or none.
func (m *Model) linkAdded(c xfrm.Link) error {
	if !m.hasDevice(c.Dev) {
		return xfrm.Errorf(c.Pos, "unknown device %q: the devices are red and black, and there is no such bridge, VLAN, VRF or XFRM interface", c.Dev)
	}
	if c.Master == nil {
		return nil
	}
	if i := m.Interface(c.Dev); i != nil {
		return m.enslaveInterface(c, i)
	}
	return m.enslave(c)
}

// master puts a port into the bridge or takes it out. A bridge of one port leads nowhere: if one
// goes, both do.
func (m *Model) master(c xfrm.Link, l *Link) error {
	switch {
	case *c.Master == "":
		m.ungroup(c.Pos)
	case m.vrf(*c.Master) != nil:
		return xfrm.Errorf(c.Pos, "%s cannot go into the VRF %s: a VRF has VLANs of red and XFRM interfaces alone", c.Dev, *c.Master)
	case *c.Master != m.Bridge:
		return xfrm.Errorf(c.Pos, "there is no bridge %s: write `link add %s type bridge` first", *c.Master, *c.Master)
	default:
		l.Master = m.Bridge
		m.bridged = c.Pos
	}
	return nil
}

func (m *Model) ungroup(pos xfrm.Pos) {
	for _, l := range m.Links {
		l.Master = ""
	}
	m.bridged = pos
}

// CheckBridge refuses what would be half a bridge, and SAs of a mode that does not go with what the
// box is.
func (m *Model) CheckBridge() error {
	red, black := m.Links[xfrm.Red].Master, m.Links[xfrm.Black].Master
	if red != black {
		in, out := xfrm.Red, xfrm.Black
		if red == "" {
			in, out = out, in
		}
		return xfrm.Errorf(m.bridged, "%s is in the bridge %s and %s is not: put both into it in one batch, `link set red master %s` and `link set black master %s`", in, m.Bridge, out, m.Bridge, m.Bridge)
	}
	if m.Bump() && len(m.Interfaces) > 0 {
		return xfrm.Errorf(m.bridged, "the box is a bridge, which has no routes, and so it can have no XFRM interface %s: delete one of them", m.Interfaces[0].Name)
	}
	if m.Bump() && len(m.VRFs) > 0 {
		return xfrm.Errorf(m.bridged, "the box is a bridge, which has no routes, and so it can have no VRF %s: delete one of them", m.VRFs[0].Name)
	}
	for sa := range m.TouchedSAs() {
		if err := m.checkMode(sa); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) checkMode(sa *SA) error {
	bump, hosts := m.Bump(), sa.Mode == xfrm.ModeTransport
	switch {
	case hosts && !bump && !sa.Fresh:
		return xfrm.Errorf(m.bridged, "the bridge cannot go while there are SAs in transport mode, as spi 0x%x: delete them first", sa.SPI)
	case hosts && !bump:
		return xfrm.Errorf(sa.Pos, "the SA spi 0x%x is in transport mode, as no mode means too, and that needs a bridge: `link add br0 type bridge`, `link set red master br0`, `link set black master br0`", sa.SPI)
	case !hosts && bump:
		pos := sa.Pos
		if !sa.Fresh {
			pos = m.bridged
		}
		return xfrm.Errorf(pos, "the SA spi 0x%x is in tunnel mode, whose packets are routed, but red and black are in the bridge %s: a box is one or the other", sa.SPI, m.Bridge)
	}
	return nil
}
