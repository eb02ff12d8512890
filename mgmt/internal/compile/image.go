// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"net/netip"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// BlocksOf are the blocks that lead to one of some SAs.
func (i *Image) BlocksOf(sas map[int]bool) map[int]bool {
	out := map[int]bool{}
	for index, row := range i.DSCPSA {
		if sas[int(regs.DscpSaRow.Sa.Get(row))] {
			out[index/model.Dscps] = true
		}
	}
	return out
}

// Hop is a next-hop row and whose it is; row 0 belongs to no address. An empty Row is not valid on
// the chip.
type Hop struct {
	IP      netip.Addr `json:"ip"`
	Row     Row        `json:"row"`
	Network int        `json:"network,omitempty"`
}

// Rule is a ternary row and its owner: a selector, or a part of one with ranges.
type Rule struct {
	Owner string `json:"owner"`
	Part  int    `json:"part,omitempty"`
	Row   Row    `json:"row"`
}

// Image is what the chips' tables hold. Of key tables it knows only which rows are in use.
type Image struct {
	Flow      map[int]Row  `json:"flow"`
	SAD       map[int]Row  `json:"sad"`
	InnerRule map[int]Rule `json:"inner_rule"`
	OuterRule map[int]Rule `json:"outer_rule"`
	// InboundRule are the selector sets of inbound SAs that have several.
	InboundRule map[int]Rule `json:"inbound_rule,omitempty"`
	Selector    map[int]Row  `json:"selector"`
	Tunnel      map[int]Row  `json:"tunnel"`
	Dummy       map[int]Row  `json:"dummy,omitempty"`
	DSCPMap     map[int]Row  `json:"dscp_map,omitempty"`
	DSCPSA      map[int]Row  `json:"dscp_sa,omitempty"`
	RedHop      map[int]Hop  `json:"red_hop"`
	BlackHop    map[int]Hop  `json:"black_hop"`
	// Host are those straight behind red, and BlackHost those behind black.
	Host      map[int]Row `json:"host,omitempty"`
	BlackHost map[int]Row `json:"black_host,omitempty"`
	// Peer are the far ends of SAs and policies.
	Peer map[int]Row `json:"peer,omitempty"`
	// The tree of prefixes has nodes, their children and its roots, and groups of next hops.
	Prefix      map[int]Row `json:"prefix,omitempty"`
	PrefixChild map[int]Row `json:"prefix_child,omitempty"`
	PrefixRoot  map[int]Row `json:"prefix_root,omitempty"`
	HopGroup    map[int]Row `json:"hop_group,omitempty"`
	// The outer chip has a tree of its own for clear packets.
	BlackPrefix      map[int]Row `json:"black_prefix,omitempty"`
	BlackPrefixChild map[int]Row `json:"black_prefix_child,omitempty"`
	BlackPrefixRoot  map[int]Row `json:"black_prefix_root,omitempty"`
	BlackHopGroup    map[int]Row `json:"black_hop_group,omitempty"`
	// PrefixPolicy are the policies by prefix, to which the tree leads, too.
	PrefixPolicy map[int]Row `json:"prefix_policy,omitempty"`
	// Network are the VLANs in VRFs.
	Network map[int]Row `json:"network,omitempty"`
	OutKeys RowSet      `json:"out_keys"`
	InKeys  RowSet      `json:"in_keys"`
}

// Rows are the tables of rows by their names.
func (i *Image) Rows() map[string]*map[int]Row {
	return map[string]*map[int]Row{
		regs.InnerTableFlow.Name: &i.Flow, regs.OuterTableSad.Name: &i.SAD, regs.InnerTableSelector.Name: &i.Selector, regs.OuterTableTunnel.Name: &i.Tunnel,
		regs.InnerTableDummy.Name: &i.Dummy, regs.OuterTableDscpMap.Name: &i.DSCPMap, regs.InnerTableDscpSa.Name: &i.DSCPSA,
		regs.InnerTableHost.Name: &i.Host, regs.OuterTableBlackHost.Name: &i.BlackHost, regs.OuterTablePeer.Name: &i.Peer,
		regs.InnerTablePrefix.Name: &i.Prefix, regs.InnerTablePrefixChild.Name: &i.PrefixChild, regs.InnerTablePrefixRoot.Name: &i.PrefixRoot,
		regs.InnerTableHopGroup.Name: &i.HopGroup, regs.InnerTablePrefixPolicy.Name: &i.PrefixPolicy,
		regs.InnerTableNetwork.Name:     &i.Network,
		regs.OuterTableBlackPrefix.Name: &i.BlackPrefix, regs.OuterTableBlackPrefixChild.Name: &i.BlackPrefixChild, regs.OuterTableBlackPrefixRoot.Name: &i.BlackPrefixRoot,
		regs.OuterTableBlackHopGroup.Name: &i.BlackHopGroup,
	}
}

// Rules are the tables of rules.
func (i *Image) Rules() map[string]*map[int]Rule {
	return map[string]*map[int]Rule{"inner_rule": &i.InnerRule, "outer_rule": &i.OuterRule, "inbound_rule": &i.InboundRule}
}

// Len is how many rows and rules there are.
func (i *Image) Len() (n int) {
	for _, rows := range i.Rows() {
		n += len(*rows)
	}
	for _, rules := range i.Rules() {
		n += len(*rules)
	}
	return n
}

// NewImage is the tables after reset.
func NewImage() *Image { return &Image{} }

func (i *Image) Keys(way xfrm.Dir) *RowSet {
	if way == xfrm.DirOut {
		return &i.OutKeys
	}
	return &i.InKeys
}

func (i *Image) Hops(dev string) map[int]Hop {
	if dev == xfrm.Red {
		return i.RedHop
	}
	return i.BlackHop
}
