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
	"sallyport/mgmt/internal/xfrm"
)

// Ways are where the red port sends packets to prefixes, as the inner chip's tree has them, and the
// policies of prefixes of destinations, whose trees share its rows.
type Ways struct {
	Table *prefixes.Table
	Hops  map[netip.Prefix]prefixes.Hops
	// Rows are those of policies by prefix that are taken.
	Rows RowSet
}

// Way is a prefix of the tree. With the zero Hops it leaves the tree.
type Way struct {
	prefixes.Route
	Linux bool // it is one of Linux's routes, and left out where there is no room
}

// gateways give each gateway of a route out of red its next-hop row. Of Linux's some may find no
// room.
func (c *compiler) gateways() error {
	if c.sizes.Prefixes == 0 {
		return nil
	}
	for _, hop := range c.m.Gateways() {
		if _, full := c.hopRow(xfrm.Red, hop); full {
			if c.m.Routed(xfrm.Red, hop) {
				return c.noHop(xfrm.Red, hop, xfrm.Pos{})
			}
			continue
		}
		if hop != model.Nowhere {
			c.want(model.NextHop{Dev: xfrm.Red, IP: hop})
		}
	}
	return nil
}

// ways makes those of all prefixes, or, of a part, of those whose routes were learned anew.
func (c *compiler) ways() error {
	if c.sizes.Prefixes == 0 {
		return nil
	}
	if c.standing == nil {
		for _, r := range c.m.Routes {
			if r.Dev == xfrm.Red && !learned.Treeable(r.Prefix) {
				c.report.Warn(xfrm.Pos{}, "the route to %s is longer than /64, which the tree of prefixes cannot hold: its packets follow a shorter route, or their SA or policy", r.Prefix)
			}
		}
		for _, way := range c.m.Ways() {
			c.way(way)
		}
		return nil
	}
	for _, p := range slices.SortedFunc(maps.Keys(c.m.Changes.Routes), learned.Compare) {
		way, is := c.m.WayOf(p)
		switch {
		case is:
			c.way(way)
		case learned.Treeable(p):
			c.out.Ways = append(c.out.Ways, Way{Route: prefixes.Route{Prefix: p}, Linux: true})
		}
	}
	return nil
}

// way makes one. Gateways without a next-hop row are left out, and a prefix without any other is
// refused.
func (c *compiler) way(w model.Way) {
	hops := prefixes.Connected()
	if len(w.Via) > 0 {
		var rows []uint8
		for _, via := range w.Via {
			if row, has := c.hopRows[xfrm.Red][via]; has {
				rows = append(rows, uint8(row))
			}
		}
		var err error
		if hops, err = prefixes.Via(rows...); err != nil {
			c.out.NoWay = append(c.out.NoWay, w.Prefix)
		}
	}
	c.out.Ways = append(c.out.Ways, Way{prefixes.Route{Prefix: w.Prefix, Hops: hops}, w.Linux})
}

// Grouped says whether a group of next hops on the chip names a next-hop row of red.
func (i *Image) Grouped(index int) bool {
	f := regs.HopGroupRow
	for _, row := range i.HopGroup {
		for n, field := range []regs.Field{f.Hop0, f.Hop1, f.Hop2, f.Hop3} {
			if f.Valid.Get(row) == 1 && f.Connected.Get(row) == 0 && uint64(n) <= f.Last.Get(row) && int(field.Get(row)) == index {
				return true
			}
		}
	}
	return false
}

// WaysOf is the tree of the rows of an image, which the next change leads to all of its prefixes.
func WaysOf(i *Image, leaves int) (*Ways, error) {
	read := func(table regs.Table, index int) ([]uint32, error) {
		row := make(Row, table.Words())
		copy(row, (*i.Rows()[table.Name])[index])
		return row, nil
	}
	table, err := prefixes.Resume(leaves, read)
	ways := &Ways{Table: table, Hops: map[netip.Prefix]prefixes.Hops{}}
	for row := range i.PrefixPolicy {
		ways.Rows.Add(row)
	}
	return ways, err
}
