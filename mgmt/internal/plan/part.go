// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// planPart is the plan of a change that is told from the rest; nil if it is not, or if it does not
// fit. It has the writes of planOnce in the same order.
func planPart(m *model.Model, old *compile.Image, standing *compile.Standing, sizes compile.Sizes, r *model.Report) *Plan {
	if !standing.HasWays() {
		return nil
	}
	t, ok := compile.CompilePart(m, old, standing, sizes, r)
	if !ok {
		return nil
	}
	p := &planner{Plan: Plan{Image: &compile.Image{}, Target: t, Refused: map[string][]netip.Prefix{}}, m: m, old: old, standing: standing, known: standing, report: r}
	p.hops(transport.Inner, regs.InnerTableNextHop, xfrm.Red, &p.Image.RedHop)
	p.hops(transport.Outer, regs.OuterTableNextHop, xfrm.Black, &p.Image.BlackHop)
	if t.Part.Hosts && p.hosts(sizes.Hosts) != nil {
		return nil
	}
	p.changedKeys(xfrm.DirOut, regs.CryptoTableOutboundKey)
	p.changedKeys(xfrm.DirIn, regs.CryptoTableInboundKey)
	p.presetNumbers()
	p.some(transport.Outer, regs.OuterTableTunnel, old.Tunnel, t.Tunnels, p.outbound(), nil)
	p.presetWindows()
	p.presetUsage()
	p.some(transport.Inner, regs.InnerTableSelector, old.Selector, t.Selectors, t.Part.Selectors, p.freshInbound())
	p.keepWindows()
	if p.partPeers(sizes.Peers) != nil {
		return nil
	}
	if _, err := p.entries(transport.Outer, regs.OuterTableSad, sizes.SADRows, compile.SadKey, old.SAD, t.Sad, gone(t.Part.SAD, t.Sad, compile.SadKey)); err != nil {
		return nil
	}
	if _, err := p.entries(transport.Inner, regs.InnerTableFlow, sizes.FlowRows, compile.FlowKey, old.Flow, t.Flows, gone(t.Part.Flows, t.Flows, compile.FlowKey)); err != nil {
		return nil
	}
	if t.Part.Rules {
		var err error
		if p.Image.InnerRule, err = p.rules(transport.Inner, regs.InnerTableRule, sizes.InnerRules, old.InnerRule, t.InnerRules); err != nil {
			return nil
		}
	}
	if p.ways(sizes, old.PrefixPolicy) != nil {
		return nil
	}
	p.refuseRows()
	return p.ordered()
}

// partPeers puts in peers that came or have waited for room, and takes out those that went.
func (p *planner) partPeers(size int) (err error) {
	t := p.Target
	if p.Roomless, err = p.entries(transport.Outer, regs.OuterTablePeer, size, compile.PeerKey, p.old.Peer, t.Peers, t.Part.Peers); err != nil {
		return err
	}
	if len(p.Roomless) > 0 {
		p.warnLeft(regs.OuterTablePeer, size, len(p.standing.RoomlessAfter(t, p.Roomless)))
	}
	return nil
}

// changedKeys writes the keys of new SAs, and clears those of SAs that are gone.
func (p *planner) changedKeys(way xfrm.Dir, table regs.Table) {
	p.newKeys(way, table)
	for _, sa := range p.m.Changes.Removed() {
		if sa.Way == way {
			p.add(Write{Phase: phaseClear, Chip: transport.Crypto, Table: table, Index: sa.Row})
		}
	}
}

// outbound are the rows of outbound SAs that came or went, or whose path MTU is another.
func (p *planner) outbound() (rows []int) {
	for _, sa := range slices.Concat(p.m.Changes.Added(), p.m.Changes.Removed(), p.m.Changes.OtherPaths()) {
		if sa.Way == xfrm.DirOut {
			rows = append(rows, sa.Row)
		}
	}
	slices.Sort(rows)
	return rows
}

// gone are the keys that are not wanted again.
func gone(keys []string, want []compile.Placed, keyOf func(compile.Row) string) []string {
	if len(keys) == 0 {
		return nil
	}
	keep := map[string]bool{}
	for _, entry := range want {
		keep[keyOf(entry.Row)] = true
	}
	return slices.DeleteFunc(keys, func(key string) bool { return keep[key] })
}
