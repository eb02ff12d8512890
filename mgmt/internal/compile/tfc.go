// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// dummyTurn is the cycles between two looks at a row of dummies, in which its interval counts.
const dummyTurn = 16

// DummyRows are the rows of the inner chip's table `dummy`: SAs that send dummy packets.
const DummyRows = 16

// tfcUnits is a length inside ESP in units of 4 bytes: those which make packets of ESP as long as
// the length itself would, for ESP adds 2 bytes and then pads to 4 or more (RFC 4303, 2.4). It is
// at most what the SA carries uncut; 0, none, stays 0.
func (c *compiler) tfcUnits(sa *model.SA, length uint32) uint32 {
	return min((length+1)/4, model.InnerMTU(sa, c.m.PathMTU(sa))/4)
}

// placeDummies gives each new SA that sends dummy packets the lowest free row, and makes the rows
// of all.
func (c *compiler) placeDummies() error {
	taken := map[int]bool{}
	if !c.reuse {
		for row := range c.old.Dummy {
			taken[row] = true
		}
	}
	sends := func(sa *model.SA) bool { return sa.Way == xfrm.DirOut && sa.Dummy != nil }
	for sa := range c.m.SAs.All() {
		if sends(sa) && !sa.Fresh {
			taken[sa.DummyRow] = true
		}
	}
	for sa := range c.m.SAs.All() {
		if !sends(sa) {
			continue
		}
		if sa.Fresh {
			for sa.DummyRow = 0; taken[sa.DummyRow]; sa.DummyRow++ {
			}
			if sa.DummyRow >= DummyRows {
				return &FullError{Err: xfrm.Errorf(sa.Pos, "no room for the dummy packets of the SA spi 0x%x: %d SAs send some, and no more can: leave dummy out, or delete one of them", sa.SPI, DummyRows)}
			}
			taken[sa.DummyRow] = true
		}
		c.out.Dummies[sa.DummyRow] = dummyRow(sa, c.tfcUnits(sa, sa.Dummy.Length), c.sizes.Clock)
	}
	return nil
}

func dummyRow(sa *model.SA, units uint32, core clock.Clock) Row {
	f, row := regs.DummyRow, newRow(regs.DummyRow.Bits)
	f.Valid.Put(row, 1)
	f.Sa.Put(row, uint64(sa.Row))
	f.Length.Put(row, uint64(units))
	f.Interval.Put(row, core.Units(sa.Dummy.Every, dummyTurn))
	return row
}
