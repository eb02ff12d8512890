// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

func UsageTable(way xfrm.Dir) regs.Table {
	if way == xfrm.DirIn {
		return regs.InnerTableInboundUsage
	}
	return regs.InnerTableOutboundUsage
}

// SaUsageRow is the row of a new SA. Its counters run up to a carry at the hard limits
// (regs/rows.rdl). A soft limit at or above the hard one has no effect.
func SaUsageRow(sa *model.SA) Row {
	f, row := regs.SaUsageRow, newRow(regs.SaUsageRow.Bits)
	for _, limit := range []struct {
		counter, threshold regs.Field
		soft, hard         uint64
	}{{f.Bytes, f.SoftBytes, sa.ByteSoft, sa.ByteHard}, {f.Packets, f.SoftPackets, sa.PacketSoft, sa.PacketHard}} {
		limit.counter.Put(row, -limit.hard)
		if limit.soft != 0 && (limit.hard == 0 || limit.soft < limit.hard) {
			limit.threshold.Put(row, limit.soft-limit.hard)
		}
	}
	return row
}

// placeUsage gives each new outbound policy the lowest usage row that is free. Row 0 is for those
// that find none: there are as many rows as flows, so that is when the table of flows is all
// but full.
func (c *compiler) placeUsage() error {
	taken := c.usageTaken()
	next := 1
	for _, p := range c.m.Changes.AddedPolicies() {
		if p.Dir != xfrm.DirOut {
			continue
		}
		next = taken.Free(next)
		p.Usage = 0
		if next < c.sizes.FlowRows {
			p.Usage = next
			taken.Add(next)
		}
	}
	return nil
}

// usageTaken are the usage rows that no new policy can have.
func (c *compiler) usageTaken() RowSet {
	if c.standing != nil {
		return c.standing.usage.Clone()
	}
	var taken RowSet
	if !c.reuse {
		for _, rows := range []map[int]Row{c.old.Flow, c.old.PrefixPolicy} {
			for _, row := range rows {
				taken.Add(int(regs.FlowRow.Usage.Get(row)))
			}
		}
		for _, rule := range c.old.InnerRule {
			taken.Add(int(regs.RuleRow.Usage.Get(rule.Row)))
		}
	}
	for p := range c.m.Policies.All() {
		if !p.Fresh {
			taken.Add(p.Usage)
		}
	}
	return taken
}

// NumberRow is a row of either table of sequence numbers on the crypto chip; both have one field,
// of 64 bits from bit 0.
func NumberRow(number uint64) Row {
	row := newRow(regs.OutboundNumberRow.Bits)
	regs.OutboundNumberRow.Last.Put(row, number)
	return row
}

// NumberTable has the sequence numbers of SAs of a direction.
func NumberTable(way xfrm.Dir) regs.Table {
	if way == xfrm.DirOut {
		return regs.CryptoTableOutboundNumber
	}
	return regs.CryptoTableInboundNumber
}
