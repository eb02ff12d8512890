// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/hostroutes"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// hop gives the next-hop row of a device for everything in a prefix, as packets of a VRF find it;
// "" is none.
func (c *compiler) hop(dev, vrf string, to netip.Prefix, pos xfrm.Pos) (row int, p model.Path, err error) {
	own, network := c.m.Inside(vrf), c.m.NetworkOf(vrf)
	p = own.Lookup(dev, to)
	c.lead(Lead{Dev: dev, Hop: p.Hop, Wanted: c.wantHop(dev, vrf, to, p), Network: network})
	if p.Many {
		c.report.Warn(pos, "for dst %s there are different next hops on %s, but one entry has one: all of it goes to %s", xfrm.PrefixText(to), dev, hopText(p.Hop))
	}
	if !p.Hop.IsValid() {
		return 0, p, nil
	}
	row, full := c.hopRow(model.NextHop{Dev: dev, IP: p.Hop, Network: network})
	if full && !own.ByHand(model.NextHop{Dev: dev, IP: p.Hop}) && !own.Routed(dev, p.Hop) {
		c.report.Warn(pos, "no room for the next hop %s, which was learned: the table of %s has %d rows, and what goes there goes to the default", p.Hop, dev, c.hopSize(dev))
		return 0, p, nil
	} else if full {
		return 0, p, c.noHop(dev, p.Hop, pos)
	}
	return row, p, nil
}

// hopRow gives the next-hop row of an address; full if there is no room for a new one.
func (c *compiler) hopRow(hop model.NextHop) (row int, full bool) {
	row, ok := c.hopRows[hop]
	if ok {
		return row, false
	}
	if row, _ = c.old.hopRow(hop); row == 0 {
		taken := map[int]bool{0: true}
		for other, index := range c.hopRows {
			taken[index] = taken[index] || other.Dev == hop.Dev
		}
		for index := range c.old.Hops(hop.Dev) {
			taken[index] = taken[index] || !c.reuse || c.old.Grouped(hop.Dev, index)
		}
		for row = 1; taken[row]; row++ {
		}
		if row >= c.hopSize(hop.Dev) {
			return 0, true
		}
	}
	c.hopRows[hop] = row
	return row, false
}

func (c *compiler) hopSize(dev string) int {
	if dev == xfrm.Black {
		return min(c.sizes.BlackHops, 256)
	}
	return min(c.sizes.RedHops, 256)
}

func (c *compiler) noHop(dev string, hop netip.Addr, pos xfrm.Pos) error {
	name := "next hop " + hop.String()
	if hop == model.Back {
		name = "way back to black"
	}
	return &FullError{Err: xfrm.Errorf(pos, "no room for the %s: the table of %s has %d rows, row 0 being the default", name, dev, c.hopSize(dev))}
}

// lead notes where the rows that are made lead to. If only some are made, those of policies led
// there before.
func (c *compiler) lead(l Lead) {
	if c.standing == nil || c.user != 0 {
		l.User = c.user
		c.out.Leads = append(c.out.Leads, l)
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
		c.out.Hops[dev] = rows
	}
	inside := c.m.Insides()
	for hop, index := range c.hopRows {
		own, dev, ip := inside[hop.Network], hop.Dev, hop.IP
		h := Hop{IP: ip, Network: hop.Network}
		mac := own.Station(dev, ip)
		if hop.Network != 0 && !own.InReach(hop) {
			mac = xfrm.MAC{} // its VLAN has left the VRF
		}
		switch {
		case dev == xfrm.Red && ip == model.Back:
			h.Row = backRow()
		case mac != (xfrm.MAC{}) && ip != model.Nowhere:
			h.Row = hopRow(mac, c.m.TagsOf(own.HopVLAN(dev, ip)), hop.Network == 0 && own.LeadsInside(dev, ip.Is6()))
		}
		c.out.Hops[dev][index] = h
	}
}

// hosts gives each host straight behind a port a row of its own, and each address of small routes.
// Written ones come first.
func (c *compiler) hosts() {
	if c.m.Bump() {
		return
	}
	put := func(dev string, p Placed) { c.out.Hosts[dev] = append(c.out.Hosts[dev], p) }
	add := func(host model.NextHop, mac xfrm.MAC, tags []byte, learned bool) {
		put(host.Dev, Placed{Owner: "the host " + host.IP.String(), Row: hostRow(host, mac, tags), Optional: learned})
	}
	inside := c.m.Insides()
	for _, number := range slices.Sorted(maps.Keys(inside)) {
		own := inside[number]
		for _, n := range own.Neighs {
			if host := (model.NextHop{Dev: n.Dev, IP: n.IP}); own.HasRow(host) || hostroutes.Behind(own, n.Dev, n.IP) {
				host.Network = number
				add(host, n.MAC, c.m.TagsOf(n.VLAN), false)
			}
		}
	}
	for _, dev := range model.Devices {
		all, refused := hostroutes.All(c.m, dev, c.sizes.Hosts[dev])
		for _, r := range all {
			if own := inside[r.Host.Network]; !own.ByHand(r.Host) {
				put(dev, c.routedRow(own, r))
			}
		}
		for set, routes := range refused {
			c.out.NoRows[set] = append(c.out.NoRows[set], routes...)
		}
	}
	for _, host := range slices.SortedFunc(maps.Keys(c.m.Learned), model.NextHop.Compare) {
		if own := inside[host.Network]; own != nil && own.Resolves(host) && !own.ByHand(host) {
			add(host, c.m.Learned[host], c.m.TagsOf(own.HopVLAN(host.Dev, host.IP)), true)
		}
	}
}

// routedRow is the row of an address behind a gateway. If that has no neighbour line, a change of
// Linux's must not fail for want of room.
func (c *compiler) routedRow(own *model.Model, r hostroutes.Routed) Placed {
	row := hostRow(r.Host, own.Station(r.Host.Dev, r.Via), c.m.TagsOf(own.HopVLAN(r.Host.Dev, r.Via)))
	p := Placed{Owner: "the route to " + r.Way.Prefix.String(), Row: row, Route: r.Way.Prefix}
	if p.Optional = r.Way.Linux || !own.ByHand(model.NextHop{Dev: r.Host.Dev, IP: r.Via}); r.Way.Linux {
		p.Set = r.Set
	}
	return p
}

// smallHops notes gateways of small prefixes, and the hosts of small networks.
func (c *compiler) smallHops() {
	for number, own := range c.m.Insides() {
		for _, dev := range model.Devices {
			for _, ip := range slices.Concat(hostroutes.Gateways(own, dev), hostroutes.Near(own, dev)) {
				c.want(own, model.NextHop{Dev: dev, IP: ip, Network: number})
			}
		}
	}
}

// want notes a next hop without a written address, if Linux may find that, as packets of the hop's
// network meet the model.
func (c *compiler) want(own *model.Model, h model.NextHop) netip.Addr {
	if own.ByHand(h) || !own.InReach(h) {
		return netip.Addr{}
	}
	c.out.Wanted[h] = true
	return h.IP
}

// wantHop notes the next hop of a prefix, and gives it: its gateway, or the one host that it is, if
// that is on the port's network.
func (c *compiler) wantHop(dev, vrf string, to netip.Prefix, p model.Path) netip.Addr {
	own, network := c.m.Inside(vrf), c.m.NetworkOf(vrf)
	switch {
	case p.Hop.IsValid():
		return c.want(own, model.NextHop{Dev: dev, IP: p.Hop, Network: network})
	case to.IsValid() && to.IsSingleIP() && own.PlaceOf(to.Addr()).Dev == dev:
		return c.want(own, model.NextHop{Dev: dev, IP: to.Addr(), Network: network})
	}
	return netip.Addr{}
}
