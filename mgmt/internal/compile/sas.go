// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/suite"
	"sallyport/mgmt/internal/xfrm"
)

func (c *compiler) checkSAs() error {
	seen := map[[sha256.Size]byte]*model.SA{}
	for _, sa := range c.m.Changes.Added() {
		s := sa.Suite()
		if !s.Built(c.sizes.Suites) {
			return xfrm.Errorf(sa.Pos, "%s is not built into this crypto chip, which has %s", s.Name, strings.Join(suite.Names(c.sizes.Suites), ", "))
		}
		if int(sa.ReplayWindow) > c.sizes.Window {
			return xfrm.Errorf(sa.Pos, "replay-window %d is too large: this inner chip was built for at most %d packets", sa.ReplayWindow, c.sizes.Window)
		}
		if s.Repetition() == "" {
			continue
		}
		key := sha256.Sum256(sa.Crypt().Key)
		if other := seen[key]; other != nil && sa.Way != other.Way {
			c.report.Warn(sa.Pos, "the SAs spi 0x%x and 0x%x have one key: their %s", other.SPI, sa.SPI, s.Repetition())
		}
		seen[key] = sa
	}
	return nil
}

// checkSPIs refuses a second inbound SA of one SPI: a router finds them by that alone (RFC
// 4301 4.4.2).
func (c *compiler) checkSPIs() error {
	for sa := range c.m.TouchedSAs() {
		if sa.Way != xfrm.DirIn || c.m.Bump() {
			continue
		}
		for other := range c.m.SAs.OfSPI(sa.SPI) {
			if other.Way == xfrm.DirIn && other.Age < sa.Age {
				return xfrm.Errorf(sa.Pos, "the SPI 0x%x is in use by the inbound SA src %s dst %s: a router finds inbound SAs by their SPI alone, so give this one another", sa.SPI, other.Src, other.Dst)
			}
		}
	}
	return nil
}

// placeSAs gives each new SA the lowest free row of its direction.
func (c *compiler) placeSAs() error {
	for _, way := range []xfrm.Dir{xfrm.DirOut, xfrm.DirIn} {
		// Without reuse every SA that stays has its row among those that have keys.
		taken := c.old.Keys(way).Clone()
		if c.reuse {
			taken = RowSet{}
			for sa := range c.m.SAs.All() {
				if sa.Way == way && !sa.Fresh {
					taken.Add(sa.Row)
				}
			}
		}
		next := 0
		for _, sa := range c.m.Changes.Added() {
			if sa.Way != way {
				continue
			}
			next = taken.Free(next)
			if next >= c.sizes.SAs {
				return &FullError{Err: xfrm.Errorf(sa.Pos, "no room for the %sbound SA spi 0x%x: the table of %d is full", way, sa.SPI, c.sizes.SAs)}
			}
			sa.Row = next
			taken.Add(next)
		}
	}
	return nil
}

func (c *compiler) outboundSAs() error {
	sas := c.sas()
	if c.standing != nil {
		sas = slices.Values(slices.Concat(c.m.Changes.Added(), c.m.Changes.OtherPaths()))
	}
	for sa := range sas {
		if sa.Way != xfrm.DirOut {
			continue
		}
		c.user = sa.Age
		if mtu := c.m.PathMTU(sa); sa.Dst.Is6() && mtu < xfrm.MinMTU6 {
			return xfrm.Errorf(sa.Pos, "the outbound SA spi 0x%x has IPv6 endpoints, which need an mtu of at least %d (RFC 8200, 5), but that of black is %d", sa.SPI, xfrm.MinMTU6, mtu)
		}
		if sa.Mode == xfrm.ModeTransport {
			continue // its packets keep their headers
		}
		row, p, err := c.hop(xfrm.Black, "", netip.PrefixFrom(sa.Dst, sa.Dst.BitLen()), sa.Pos)
		if err != nil {
			return err
		}
		c.out.Tunnels[sa.Row] = tunnelRow(sa, row, c.m.TunnelMTU(sa, p.Mtu), c.arrays[mapBlock(sa.DSCP.Map)])
	}
	return nil
}

func (c *compiler) inboundSAs() error {
	for sa := range c.sas() {
		if sa.Way != xfrm.DirIn {
			continue
		}
		c.out.Sad = append(c.out.Sad, Placed{Row: sadRow(sa), Age: sa.Age, Pos: sa.Pos, Owner: fmt.Sprintf("spi 0x%x", sa.SPI)})
		if err := c.selectorOf(sa); err != nil {
			return err
		}
	}
	return nil
}

// selectorOf makes the selector row of an inbound SA, if a policy names it. Packets of an if_id
// that no XFRM interface has are of no network.
func (c *compiler) selectorOf(sa *model.SA) error {
	c.user = sa.Age
	if sa.IfID != 0 && !steer.Has(c.m, sa.IfID) {
		if sa.Fresh {
			c.report.Warn(sa.Pos, "no XFRM interface has if_id 0x%x: what the inbound SA spi 0x%x decrypts is dropped until one has", sa.IfID, sa.SPI)
		}
		return nil
	}
	if len(c.sets[sa]) == 0 {
		if sa.Fresh {
			c.report.Warn(sa.Pos, "no in or fwd policy names the inbound SA spi 0x%x: what it decrypts is dropped until one does", sa.SPI)
		}
		return nil
	}
	row := 0 // of a frame that keeps its addresses
	if sa.Mode == xfrm.ModeTunnel {
		var err error
		if row, err = c.inboundHop(sa); err != nil {
			return err
		}
	}
	if g := c.group[sa]; g != nil {
		c.out.Selectors[sa.Row] = groupRow(sa, g.number, row)
	} else {
		c.out.Selectors[sa.Row] = selectorRow(sa, c.selector[sa], row)
	}
	regs.SelectorRow.Network.Put(c.out.Selectors[sa.Row], uint64(c.m.NetworkOf(c.sets[sa][0].sel.VRF)))
	if slices.ContainsFunc(c.sets[sa], func(s set) bool { return s.mss }) {
		regs.SelectorRow.Mtu.Put(c.out.Selectors[sa.Row], uint64(c.m.ReturnMTU(sa)))
	}
	return nil
}

// inboundHop is the next hop of what an inbound SA decrypts: the one of all its selector sets, or
// the default where they differ.
func (c *compiler) inboundHop(sa *model.SA) (row int, err error) {
	g, vrf := c.group[sa], c.sets[sa][0].sel.VRF
	if g == nil {
		row, _, err = c.hop(xfrm.Red, vrf, c.selector[sa].Dst, sa.Pos)
		return row, err
	}
	own := c.m.Inside(vrf)
	var known xfrm.MAC
	var all []xfrm.Selector
	for _, s := range g.sets {
		all = append(all, s.sel.ByDst()...)
	}
	to := all[0].Dst
	for _, sel := range all {
		// One station may have several names; where there is none at all, no packet goes anyway.
		station := own.Station(xfrm.Red, own.Lookup(xfrm.Red, sel.Dst).Hop)
		switch {
		case station == (xfrm.MAC{}) || station == known:
		case known == (xfrm.MAC{}):
			known, to = station, sel.Dst
		default:
			c.report.Warn(sa.Pos, "the selector sets of the inbound SA spi 0x%x have different next hops on red, but an SA has one: all of it goes to %s", sa.SPI, hopText(netip.Addr{}))
			return 0, nil
		}
	}
	row, _, err = c.hop(xfrm.Red, vrf, to, sa.Pos)
	return row, err
}
