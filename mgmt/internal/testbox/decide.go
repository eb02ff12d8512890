// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"net/netip"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Packet is one from red between two TCP or UDP ports.
type Packet struct {
	Src, Dst     netip.Addr
	Proto        byte
	SPort, DPort uint16
	VLAN         int // the ID of its outer tag; 0: none
}

// NetworkOf is the network of frames from red by the ID of their outer tag.
func (r *Rig) NetworkOf(vlan int) uint64 {
	row := r.Fake.Table(transport.Inner, regs.InnerTableNetwork)[vlan]
	if row == nil || regs.NetworkRow.Valid.Get(row) == 0 {
		return 0
	}
	return regs.NetworkRow.Network.Get(row)
}

// Blocked says whether no policy takes frames from red with that tag.
func (r *Rig) Blocked(vlan int) bool {
	row := r.Fake.Table(transport.Inner, regs.InnerTableNetwork)[vlan]
	return row != nil && regs.NetworkRow.Blocked.Get(row) == 1
}

// Decide is the row that decides on a packet from red, or nil: the flow, the row by prefix or the
// rule of the lowest priority number, in this order at equality (docs/explanation/policies.md).
func (r *Rig) Decide(rules fakebox.Ternary, p Packet) ([]uint32, error) {
	if r.Blocked(p.VLAN) {
		return nil, nil
	}
	f := regs.FlowRow
	network := r.NetworkOf(p.VLAN)
	row, err := r.Fake.Named(int(network), p.Src, p.Dst)
	if err != nil {
		return nil, err
	}
	key := make([]uint32, f.Sa.LSB/32+1)
	version := uint64(4)
	if p.Dst.Is6() {
		version = 6
	}
	if p.Dst.IsMulticast() {
		version++
	}
	f.SrcAddr.PutBytes(key, IpBytes(p.Src.String(), 16))
	f.DstAddr.PutBytes(key, IpBytes(p.Dst.String(), 16))
	f.SrcPort.Put(key, uint64(p.SPort))
	f.DstPort.Put(key, uint64(p.DPort))
	f.Protocol.Put(key, uint64(p.Proto))
	f.Version.Put(key, version)
	f.Upper.Put(key, regs.UpperPorts)
	f.Network.Put(key, network)
	if rule := rules.First(func(row []uint32) bool { return fakebox.Matches(row, key[:f.Network.LSB/32+1]) }); rule != nil && (row == nil || f.Priority.Get(rule) < f.Priority.Get(row)) {
		row = rule
	}
	if flow := r.FlowRowIn(network, p.Src.String(), p.Dst.String(), p.Proto, p.SPort, p.DPort); flow != nil && (row == nil || f.Priority.Get(flow) <= f.Priority.Get(row)) {
		row = flow
	}
	return row, nil
}

// RulesNow are the rules of the inner chip for out policies.
func (r *Rig) RulesNow() fakebox.Ternary {
	rules := fakebox.Ternary{}
	for index, row := range r.Fake.Table(transport.Inner, regs.InnerTableRule) {
		rules[index] = row
	}
	return rules
}
