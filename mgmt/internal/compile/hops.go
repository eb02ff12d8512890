// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// hop gives the next-hop row of a device for everything in a prefix.
func (c *compiler) hop(dev string, to netip.Prefix, pos xfrm.Pos) (row int, p model.Path, err error) {
	p = c.m.Lookup(dev, to)
	c.lead(dev, p.Hop, c.wantHop(dev, to, p))
	if p.Many {
		c.report.Warn(pos, "for dst %s there are different next hops on %s, but one entry has one: all of it goes to %s", xfrm.PrefixText(to), dev, hopText(p.Hop))
	}
	if !p.Hop.IsValid() {
		return 0, p, nil
	}
	row, full := c.hopRow(dev, p.Hop)
	if full && !c.m.ByHand(model.NextHop{Dev: dev, IP: p.Hop}) && !c.m.Routed(dev, p.Hop) {
		c.report.Warn(pos, "no room for the next hop %s, which was learned: the table of %s has %d rows, and what goes there goes to the default", p.Hop, dev, c.hopSize(dev))
		return 0, p, nil
	} else if full {
		return 0, p, c.noHop(dev, p.Hop, pos)
	}
	return row, p, nil
}

// hopRow gives the next-hop row of an address; full if there is no room for a new one.
func (c *compiler) hopRow(dev string, hop netip.Addr) (row int, full bool) {
	row, ok := c.hopRows[dev][hop]
	if ok {
		return row, false
	}
	old := c.old.Hops(dev)
	for index, h := range old {
		if h.IP == hop {
			row = index
		}
	}
	if row == 0 {
		taken := map[int]bool{0: true}
		for _, index := range c.hopRows[dev] {
			taken[index] = true
		}
		for index := range old {
			taken[index] = taken[index] || !c.reuse || c.old.Grouped(dev, index)
		}
		for row = 1; taken[row]; row++ {
		}
		if row >= c.hopSize(dev) {
			return 0, true
		}
	}
	c.hopRows[dev][hop] = row
	return row, false
}

func (c *compiler) hopSize(dev string) int {
	if dev == xfrm.Black {
		return min(c.sizes.BlackHops, 256)
	}
	return min(c.sizes.RedHops, 256)
}

func (c *compiler) noHop(dev string, hop netip.Addr, pos xfrm.Pos) error {
	return &FullError{Err: xfrm.Errorf(pos, "no room for the next hop %s: the table of %s has %d rows, row 0 being the default", hop, dev, c.hopSize(dev))}
}

// lead notes where the rows that are made lead to. If only some are made, those of policies led
// there before.
func (c *compiler) lead(dev string, hop, wanted netip.Addr) {
	if c.standing == nil || c.user != 0 {
		c.out.Leads = append(c.out.Leads, Lead{c.user, dev, hop, wanted})
	}
}

func hopText(hop netip.Addr) string {
	if !hop.IsValid() {
		return "the default next hop"
	}
	return hop.String()
}

// hops fills the next-hop tables: a hop whose neighbour is not known yet goes to the default one.
func (c *compiler) hops() {
	for _, dev := range model.Devices {
		rows := map[int]Hop{}
		if c.m.Links[dev].Default != nil {
			rows[0] = Hop{Row: hopRow(*c.m.Links[dev].Default, nil, false)}
		}
		for ip, index := range c.hopRows[dev] {
			h := Hop{IP: ip}
			if mac := c.m.Station(dev, ip); mac != (xfrm.MAC{}) && ip != model.Nowhere {
				h.Row = hopRow(mac, c.m.TagsOf(c.m.HopVLAN(dev, ip)), c.m.LeadsInside(dev, ip.Is6()))
			}
			rows[index] = h
		}
		c.out.Hops[dev] = rows
	}
}

// hosts gives each host straight behind a port a row of its own. Those that were written come
// first.
func (c *compiler) hosts() {
	if c.m.Bump() {
		return
	}
	add := func(host model.NextHop, mac xfrm.MAC, learned bool) {
		row := hostRow(host.IP, mac, c.m.TagsOf(c.m.HopVLAN(host.Dev, host.IP)))
		c.out.Hosts[host.Dev] = append(c.out.Hosts[host.Dev], Placed{Owner: "the host " + host.IP.String(), Row: row, Optional: learned})
	}
	for _, n := range c.m.Neighs {
		if host := (model.NextHop{Dev: n.Dev, IP: n.IP}); c.m.HasRow(host) {
			add(host, n.MAC, false)
		}
	}
	for _, host := range slices.SortedFunc(maps.Keys(c.m.Learned), model.NextHop.Compare) {
		if c.m.Resolves(host) && !c.m.ByHand(host) {
			add(host, c.m.Learned[host], true)
		}
	}
}

// want notes a next hop without a written address. The addresses of next hops in VLANs have to be
// written, since Linux's device is the whole port's.
func (c *compiler) want(h model.NextHop) netip.Addr {
	if c.m.ByHand(h) || c.m.HopVLAN(h.Dev, h.IP) != "" {
		return netip.Addr{}
	}
	c.out.Wanted[h] = true
	return h.IP
}

// wantHop notes the next hop of a prefix, and gives it: its gateway, or the one host that it is, if
// that is on the port's network.
func (c *compiler) wantHop(dev string, to netip.Prefix, p model.Path) netip.Addr {
	switch {
	case p.Hop.IsValid():
		return c.want(model.NextHop{Dev: dev, IP: p.Hop})
	case to.IsValid() && to.IsSingleIP() && c.m.PlaceOf(to.Addr()).Dev == dev:
		return c.want(model.NextHop{Dev: dev, IP: to.Addr()})
	}
	return netip.Addr{}
}
