package box

import (
	"net/netip"
)

// want notes a next hop whose address nobody wrote. Those in VLANs have to be written: Linux's device is the whole port's.
func (c *compiler) want(h NextHop) {
	if !c.m.byHand(h) && c.m.hopVLAN(h.Dev, h.IP) == "" {
		c.out.wanted[h] = true
	}
}

// wantHop notes the next hop of a prefix: its gateway, or the one host that it is, if that is on the port's network.
func (c *compiler) wantHop(dev string, to netip.Prefix, p path) {
	switch {
	case p.hop.IsValid():
		c.want(NextHop{dev, p.hop})
	case to.IsValid() && to.IsSingleIP() && c.m.placeOf(to.Addr()).Dev == dev:
		c.want(NextHop{dev, to.Addr()})
	}
}
