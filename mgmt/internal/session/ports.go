// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net/netip"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// portBits are the enables of a port, which both interface chips have at the same places.
var portBits = uint32(1)<<regs.InnerControlRxEnable.LSB | uint32(1)<<regs.InnerControlTxEnable.LSB

// Open says whether a port of the box sends or receives.
func (s *Session) Open() (bool, error) {
	inner, err := s.Box.Read32(transport.Inner, regs.InnerControl)
	if err != nil {
		return false, err
	}
	outer, err := s.Box.Read32(transport.Outer, regs.OuterControl)
	return (inner|outer)&portBits != 0, err
}

// ClosePorts closes both ports, whatever the tables hold. Of a box that is configured later it
// holds, too.
func (s *Session) ClosePorts() error {
	s.Closed = true
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		now, err := s.Box.Read32(c, controls[c])
		if err != nil {
			return err
		}
		if err := s.Box.Write32(c, controls[c], now&^portBits); err != nil {
			return err
		}
	}
	return nil
}

// OpenPorts opens those ports that are not down. Of a box that is configured later it holds, too.
func (s *Session) OpenPorts() error {
	s.Closed = false
	if adopted, err := s.Adopted(); err != nil || !adopted {
		return err
	}
	return s.reading(func(state *store.State) error {
		want := control(state.Model, &compile.Target{}, false)
		for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
			now, err := s.Box.Read32(c, controls[c])
			if err != nil {
				return err
			}
			if err := s.Box.Write32(c, controls[c], now&^portBits|want[c]&portBits); err != nil {
				return err
			}
		}
		return nil
	})
}

// PortAddress is an IP address that a port answers for, with the port's Ethernet address.
type PortAddress struct {
	Port uint8
	MAC  xfrm.MAC
	IP   netip.Addr
}

// PortAddresses are those of both ports, but for those in VLANs.
func (v *View) PortAddresses() (out []PortAddress) {
	ports := map[string]uint8{xfrm.Red: transport.PortRed, xfrm.Black: transport.PortBlack}
	for _, a := range v.model.Addrs {
		if a.VLAN == "" {
			out = append(out, PortAddress{ports[a.Dev], v.model.PortMAC(a.Dev), a.Prefix.Addr()})
		}
	}
	return out
}
