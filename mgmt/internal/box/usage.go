package box

import (
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// usage is what an SA or a policy has carried, and whether an SA has reached limits in it.
type usage struct {
	bytes, packets  uint64
	warned, expired bool
}

// String prints as iproute2 does, without times.
func (u usage) String() string {
	return fmt.Sprintf("\tlifetime current:\n\t  %d(bytes), %d(packets)\n", u.bytes, u.packets)
}

// usageReader reads a row of one of the inner chip's usage tables.
type usageReader func(table regs.Table, index int) (Row, error)

func (s *Session) readUsage(table regs.Table, index int) (Row, error) {
	return s.Box.ReadRow(transport.Inner, table, index)
}

func usageTable(way xfrm.Dir) regs.Table {
	if way == xfrm.DirIn {
		return regs.InnerTableInboundUsage
	}
	return regs.InnerTableOutboundUsage
}

// saUsageRow is the row of an SA that starts. Its counters run up to a carry at the hard limits (regs/rows.rdl); a soft limit
// that is not below the hard one has nothing to say.
func saUsageRow(sa *SA) Row {
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

// usageOfSA reads what an SA has carried.
func (m *Model) usageOfSA(sa *SA) (usage, error) {
	if sa.fresh {
		return usage{}, nil
	}
	row, err := m.reader(usageTable(sa.Way), sa.Row)
	if err != nil {
		return usage{}, err
	}
	f := regs.SaUsageRow
	return usage{f.Bytes.Get(row) + sa.ByteHard, f.Packets.Get(row) + sa.PacketHard, f.Warned.Get(row) != 0, f.Expired.Get(row) != 0}, nil
}

// usageOfPolicy reads what a policy has carried: an outbound one from its own row, an inbound one that names SAs as the sum of
// theirs. The outer chip's rules are not counted.
func (m *Model) usageOfPolicy(p *Policy) (sum usage, known bool, err error) {
	if p.Dir != xfrm.DirOut {
		if p.Template == nil {
			return usage{}, false, nil
		}
		for _, sa := range m.SAs {
			if sa.Way != xfrm.DirIn || !p.Names(&sa.State) {
				continue
			}
			used, err := m.usageOfSA(sa)
			if err != nil {
				return usage{}, false, err
			}
			sum.bytes += used.bytes
			sum.packets += used.packets
		}
		return sum, true, nil
	}
	if p.fresh || p.Usage == 0 {
		return usage{}, p.fresh, nil
	}
	row, err := m.reader(regs.InnerTablePolicyUsage, p.Usage)
	if err != nil {
		return usage{}, false, err
	}
	f := regs.PolicyUsageRow
	return usage{bytes: f.Bytes.Get(row), packets: f.Packets.Get(row)}, true, nil
}

// placeUsage gives each new outbound policy the lowest usage row that is free. Row 0 is for those that find none: there are as
// many rows as flows, so that is when the table of flows is all but full.
func (c *compiler) placeUsage() error {
	taken := map[int]bool{}
	if !c.reuse {
		for _, row := range c.old.Flow {
			taken[int(regs.FlowRow.Usage.Get(row))] = true
		}
		for _, rule := range c.old.InnerRule {
			taken[int(regs.RuleRow.Usage.Get(rule.Row))] = true
		}
	}
	for _, p := range c.m.Policies {
		if !p.fresh {
			taken[p.Usage] = true
		}
	}
	next := 1
	for _, p := range c.m.Policies {
		if p.Dir != xfrm.DirOut || !p.fresh {
			continue
		}
		for taken[next] {
			next++
		}
		p.Usage = 0
		if next < c.sizes.FlowRows {
			p.Usage = next
			taken[next] = true
		}
	}
	return nil
}

// presetUsage starts the counts of new SAs and policies, before a packet meets them.
func (p *planner) presetUsage() {
	for _, sa := range p.m.SAs {
		if sa.fresh {
			p.add(write{phase: phaseDirect, chip: transport.Inner, table: usageTable(sa.Way), index: sa.Row, row: saUsageRow(sa)})
		}
	}
	for _, policy := range p.m.Policies {
		if policy.fresh && policy.Usage != 0 {
			p.add(write{phase: phaseDirect, chip: transport.Inner, table: regs.InnerTablePolicyUsage, index: policy.Usage})
		}
	}
}
