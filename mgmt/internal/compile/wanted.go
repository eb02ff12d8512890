// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"net/netip"

	"sallyport/mgmt/internal/model"
)

// want notes a next hop whose address nobody wrote. Those in VLANs have to be written: Linux's device is the whole port's.
func (c *compiler) want(h model.NextHop) {
	if !c.m.ByHand(h) && c.m.HopVLAN(h.Dev, h.IP) == "" {
		c.out.Wanted[h] = true
	}
}

// wantHop notes the next hop of a prefix: its gateway, or the one host that it is, if that is on the port's network.
func (c *compiler) wantHop(dev string, to netip.Prefix, p model.Path) {
	switch {
	case p.Hop.IsValid():
		c.want(model.NextHop{Dev: dev, IP: p.Hop})
	case to.IsValid() && to.IsSingleIP() && c.m.PlaceOf(to.Addr()).Dev == dev:
		c.want(model.NextHop{Dev: dev, IP: to.Addr()})
	}
}
