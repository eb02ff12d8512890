// SPDX-License-Identifier: Apache-2.0

package model

import "sallyport/mgmt/internal/xfrm"

// Bump says whether the box is a bump in the wire (RFC 4301, 3.3): a bridge over both ports, with
// ESP of the hosts at both ends on the way. checkBridge ensures that both ports are in it
// or neither.
func (m *Model) Bump() bool { return m.Links[xfrm.Red].Master != "" }

func (m *Model) addBridge(c xfrm.Bridge) error {
	switch {
	case m.Bridge != "":
		return xfrm.Errorf(c.Pos, "there is a bridge %s already: the box has two ports, and so one bridge", m.Bridge)
	case m.vlan(c.Name) != nil:
		return xfrm.Errorf(c.Pos, "there is a device %s already", c.Name)
	}
	m.Bridge = c.Name
	return nil
}

// deleteLink deletes the bridge, which takes its ports out, or a VLAN's device.
func (m *Model) deleteLink(c xfrm.LinkDelete) error {
	if m.vlan(c.Name) != nil {
		return m.deleteVLAN(c.Name, c.Pos)
	}
	if m.Bridge != c.Name {
		return xfrm.Errorf(c.Pos, "there is no bridge or VLAN %s", c.Name)
	}
	m.Bridge = ""
	m.ungroup(c.Pos)
	return nil
}

// linkAdded is `link set NAME up` of a bridge or a VLAN's device, which asks for nothing.
func (m *Model) linkAdded(c xfrm.Link) error {
	if c.Dev != m.Bridge && m.vlan(c.Dev) == nil {
		return xfrm.Errorf(c.Pos, "unknown device %q: the devices are red and black, and there is no such bridge or VLAN", c.Dev)
	}
	return nil
}

// master puts a port into the bridge or takes it out. A bridge of one port leads nowhere: if one
// goes, both do.
func (m *Model) master(c xfrm.Link, l *Link) error {
	switch {
	case *c.Master == "":
		m.ungroup(c.Pos)
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
