// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/xfrm"
)

// Ways are where a port sends packets to prefixes, as its chip's tree has them; and, of red, the
// policies of prefixes of destinations, whose trees share its rows.
type Ways struct {
	Table *prefixes.Table
	Hops  map[netip.Prefix]prefixes.Hops
	// Apart are those of networks of VRFs, by number.
	Apart map[int]map[netip.Prefix]prefixes.Hops
	// Rows are those of policies by prefix that are taken.
	Rows RowSet
	// Steered are the rows of each lead of routes to XFRM interfaces; nil if they are not known.
	Steered map[steer.Lead][]int
}

// Way is a prefix of the tree. With the zero Hops it leaves the tree.
type Way struct {
	prefixes.Route
	Linux bool // it is one of Linux's routes, and left out where there is no room
}

// trees are the devices whose chip has a tree of prefixes.
func (c *compiler) trees() []string {
	return slices.DeleteFunc(slices.Clone(model.Devices), func(dev string) bool { return c.sizes.Prefixes[dev] == 0 })
}

// gateways give each gateway of a route in a tree its next-hop row.
func (c *compiler) gateways() error {
	for _, dev := range c.trees() {
		if err := c.gatewaysOf(dev, 0, c.m); err != nil {
			return err
		}
	}
	c.smallHops()
	return nil
}

// gatewaysOf are those of a network, as its packets meet the model. Of Linux's some may find no
// room.
func (c *compiler) gatewaysOf(dev string, network int, own *model.Model) error {
	for _, ip := range own.Gateways(dev) {
		hop := model.NextHop{Dev: dev, IP: ip, Network: network}
		if _, full := c.hopRow(hop); full {
			if own.Routed(dev, ip) || ip == model.Back {
				return c.noHop(dev, ip, xfrm.Pos{})
			}
			continue
		}
		if ip != model.Nowhere && ip != model.Back {
			c.want(own, hop)
		}
	}
	return nil
}

// ways makes those of all prefixes, or, of a part, of those whose routes were learned anew.
func (c *compiler) ways() error {
	if i := slices.IndexFunc(c.m.Routes, func(r model.Route) bool { return r.Dev == model.Tunnels }); i >= 0 && c.sizes.Prefixes[xfrm.Red] == 0 {
		return xfrm.Errorf(xfrm.Pos{}, "this inner chip has no tree of prefixes, and the route to %s dev %s needs one: delete it", c.m.Routes[i].Prefix, model.Tunnels)
	}
	for _, dev := range c.trees() {
		if c.standing != nil {
			c.out.Ways[dev] = c.learnedWays(dev, dev, 0, c.m)
			continue
		}
		for _, own := range c.m.Insides() {
			c.warnLong(own, dev)
		}
		for _, way := range c.m.Ways(dev) {
			c.out.Ways[dev] = append(c.out.Ways[dev], c.way(dev, dev, 0, way))
		}
	}
	return nil
}

// warnLong warns of written routes of a network that the chip cannot have.
func (c *compiler) warnLong(own *model.Model, dev string) {
	for _, r := range own.Routes {
		if r.Dev == dev && !learned.Treeable(r.Prefix) && !learned.Small(r.Prefix) {
			c.report.Warn(xfrm.Pos{}, "the route to %s is longer than /64 and shorter than /126, which the chip cannot have: its packets follow a shorter route, or their SA or policy", r.Prefix)
		}
	}
}

// learnedWays makes those of prefixes of a set whose routes were learned anew.
func (c *compiler) learnedWays(dev, set string, network int, own *model.Model) (ways []Way) {
	for _, p := range slices.SortedFunc(maps.Keys(c.m.Changes.Routes[set]), learned.Compare) {
		way, is := own.WayOf(dev, p)
		switch {
		case is:
			ways = append(ways, c.way(dev, set, network, way))
		case learned.Treeable(p):
			ways = append(ways, Way{Route: prefixes.Route{Prefix: p}, Linux: true})
		}
	}
	return ways
}

// way makes one. Gateways without a next-hop row are left out, and a prefix without any other is
// refused.
func (c *compiler) way(dev, set string, network int, w model.Way) Way {
	hops := prefixes.Connected()
	if len(w.Via) > 0 {
		var rows []uint8
		for _, via := range w.Via {
			if row, has := c.hopRows[model.NextHop{Dev: dev, IP: via, Network: network}]; has {
				rows = append(rows, uint8(row))
			}
		}
		var err error
		if hops, err = prefixes.Via(rows...); err != nil {
			c.out.NoWay[set] = append(c.out.NoWay[set], w.Prefix)
		}
	}
	return Way{prefixes.Route{Prefix: w.Prefix, Hops: hops}, w.Linux}
}

// Grouped says whether a group of next hops on the chip names a next-hop row of a device.
func (i *Image) Grouped(dev string, index int) bool {
	f := regs.HopGroupRow
	for _, row := range *i.Rows()[TreeTable(dev, regs.InnerTableHopGroup).Name] {
		for n, field := range []regs.Field{f.Hop0, f.Hop1, f.Hop2, f.Hop3} {
			if f.Valid.Get(row) == 1 && f.Connected.Get(row) == 0 && uint64(n) <= f.Last.Get(row) && int(field.Get(row)) == index {
				return true
			}
		}
	}
	return false
}

// TreeTable is the table of a device's chip that is as the given one of the inner chip's trees.
func TreeTable(dev string, table regs.Table) regs.Table {
	if dev == xfrm.Black {
		return prefixes.OnBlack(table)
	}
	return table
}

// WaysOf is the tree of the rows of an image, which the next change leads to all of its prefixes.
// With `steered` that of red's policies is the tree of routes to XFRM interfaces.
func WaysOf(i *Image, dev string, leaves int, steered bool) (*Ways, error) {
	rows := i.Rows()
	read := func(table regs.Table, index int) ([]uint32, error) {
		row := make(Row, table.Words())
		copy(row, (*rows[TreeTable(dev, table).Name])[index])
		return row, nil
	}
	resume := prefixes.Resume
	if steered && dev == xfrm.Red {
		resume = prefixes.ResumeNested
	}
	table, err := resume(leaves, read)
	ways := &Ways{Table: table, Hops: map[netip.Prefix]prefixes.Hops{}, Apart: map[int]map[netip.Prefix]prefixes.Hops{}}
	if dev == xfrm.Red {
		for row := range i.PrefixPolicy {
			ways.Rows.Add(row)
		}
	}
	return ways, err
}
