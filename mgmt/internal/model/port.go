// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/xfrm"
)

// Mtu is the largest IP packet of a port.
func (m *Model) Mtu(dev string) uint32 {
	if mtu := m.Links[dev].MTU; mtu != 0 {
		return mtu
	}
	return xfrm.MaxMTU
}

// CheckMTU refuses a red port of IPv6 addresses whose MTU no link of IPv6 may have (RFC 8200, 5):
// senders never make their packets shorter than that, so longer ones would be lost. The error is at
// the line that gave the MTU or the address, whichever came last. A change of neither is not
// judged.
func (m *Model) CheckMTU() error {
	mtu := m.Mtu(xfrm.Red)
	if mtu >= xfrm.MinMTU6 || m.redMTU == nil {
		return nil
	}
	for _, net := range m.networks() {
		i := slices.IndexFunc(net.Addrs, func(a Address) bool { return a.Dev == xfrm.Red && a.Prefix.Addr().Is6() })
		if i >= 0 {
			a := net.Addrs[i]
			return xfrm.Errorf(*m.redMTU, "red has the IPv6 address %s, which needs an mtu of at least %d (RFC 8200, 5), but that of red is %d", a.Prefix, xfrm.MinMTU6, mtu)
		}
	}
	return nil
}

// PortMAC is the configured address of a port, or a locally administered one made of its first IPv4
// address, else of the last four bytes of an IPv6 one, so that two boxes on one wire differ and the
// same configuration always gives the same frames.
func (m *Model) PortMAC(dev string) xfrm.MAC {
	if mac := m.Links[dev].Address; mac != nil {
		return *mac
	}
	mac := xfrm.MAC{0x02, 'r'}
	if dev == xfrm.Black {
		mac[1] = 'b'
	}
	number := uint32(1)
	for _, v6 := range []bool{true, false} {
		if addr := m.Local(dev, v6); addr.IsValid() {
			number = binary.BigEndian.Uint32(addr.AsSlice()[addr.BitLen()/8-4:])
		}
	}
	binary.BigEndian.PutUint32(mac[2:], number)
	return mac
}

// Local is the first address of a port of an IP version, one of IPv6 that is of this link alone
// apart: the box punts what goes there anyway. Black's may be known from an outbound SA alone.
func (m *Model) Local(dev string, v6 bool) netip.Addr {
	fits := func(a netip.Addr) bool { return a.Is6() == v6 && !(v6 && a.IsLinkLocalUnicast()) }
	for _, a := range m.Addrs {
		if a.Dev == dev && fits(a.Prefix.Addr()) {
			return a.Prefix.Addr()
		}
	}
	if dev == xfrm.Black {
		if sa := m.SAs.Sender(v6, fits); sa != nil {
			return sa.Src
		}
	}
	return netip.Addr{}
}

// LocalBits is the length of the prefix that the address of Local has: 0 where there is none, and
// all of it where an outbound SA alone tells of black's, whose network is not known.
func (m *Model) LocalBits(dev string, v6 bool) uint32 {
	local := m.Local(dev, v6)
	for _, a := range m.Addrs {
		if a.Dev == dev && a.Prefix.Addr() == local {
			return uint32(a.Prefix.Bits())
		}
	}
	if local.IsValid() {
		return uint32(local.BitLen())
	}
	return 0
}

// Owns says whether an address is one of the box's own.
func (m *Model) Owns(addr netip.Addr) bool {
	return slices.ContainsFunc(m.Addrs, func(a Address) bool { return a.Prefix.Addr() == addr })
}

// IsBroadcast says whether an address is the broadcast address of a network of the box.
func (m *Model) IsBroadcast(a netip.Addr) bool {
	return slices.ContainsFunc(m.Addrs, func(own Address) bool {
		const least = 2 // bits of hosts: RFC 3021
		hostBits := 32 - own.Prefix.Bits()
		if !a.Is4() || hostBits < least || !own.Prefix.Contains(a) {
			return false
		}
		hosts := uint32(math.MaxUint32) >> own.Prefix.Bits()
		return binary.BigEndian.Uint32(a.AsSlice())&hosts == hosts
	})
}
