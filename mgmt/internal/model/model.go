// SPDX-License-Identifier: Apache-2.0

// Package model holds an administrator's configuration (states, policies, addresses, routes,
// neighbours), and the box's decisions about it. It does not know the chips.
package model

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// SA is a state with what the box decided about it.
type SA struct {
	xfrm.State
	// Way is the direction the SA has here; Given by the administrator's `dir`, or worked out.
	Way xfrm.Dir `json:"way"`
	// Row is its index in the tables of its direction.
	Row int `json:"row"`
	// WindowRows are its rows of the inner chip's replay table; an inbound SA keeps them as long as
	// it lives.
	WindowRows []int `json:"window_rows,omitempty"`
	// DummyRow is its row of the inner chip's table of dummy packets, if it sends any.
	DummyRow int `json:"dummy_row,omitempty"`
	// Started says that its window is on the chip: a selector row that is written again must leave
	// it alone.
	Started bool `json:"started,omitempty"`
	// Age orders SAs by when they were added.
	Age uint64 `json:"age"`
	// Added is when it came to the chips, in seconds since the epoch.
	Added int64 `json:"added,omitempty"`
	// Used is when it was first seen to have carried a packet, likewise, where a limit in time
	// counts from there.
	Used int64 `json:"used,omitempty"`
	// Warned says that its soft limit in time was told.
	Warned bool `json:"warned,omitempty"`
	// Path is a path MTU that ICMP told, of an outbound SA.
	Path *LearnedMTU `json:"path,omitempty"`

	Pos   xfrm.Pos `json:"-"` // where it was written
	Fresh bool     `json:"-"` // not on the chips yet
}

// Peer is where the packets of an inbound SA in UDP are expected from.
func (sa *SA) Peer() netip.AddrPort {
	return netip.AddrPortFrom(sa.Src, sa.Encap.SPort)
}

// Policy is an SPD entry.
type Policy struct {
	xfrm.Policy
	Age uint64 `json:"age"`
	// Usage is the row of the inner chip that counts its packets, if it is a flow or rule there; 0
	// if it has none of its own.
	Usage int `json:"usage,omitempty"`

	Pos   xfrm.Pos `json:"-"` // where it was written
	Fresh bool     `json:"-"` // added or updated by this change, with which its count starts

	place uint64 // in the order of Policies
}

// At is the policy's place in the order in which policies were written last.
func (p *Policy) At() uint64 { return p.place }

// Place is where an address, a route or a neighbour is: at a port, and there in a VLAN, by its
// device, if not in none.
type Place struct {
	Dev  string `json:"dev"`
	VLAN string `json:"vlan,omitempty"`
}

// String is the name of the device.
func (p Place) String() string { return cmp.Or(p.VLAN, p.Dev) }

// VLAN is a device for one VLAN of a port, or, inside its frames, of another such device.
type VLAN struct {
	Place
	Parent   string `json:"parent,omitempty"` // the device around it, if it is not the port
	Protocol uint16 `json:"protocol"`
	ID       uint16 `json:"id"`
	// VRF has the VLAN; empty: none.
	VRF string `json:"vrf,omitempty"`
}

// VRF is a network apart: the addresses, routes and hosts of its VLANs are its own, and may be
// those of another one. The chip knows it by its number, 1 to 63; network 0 is that of no VRF.
type VRF struct {
	Name   string    `json:"name"`
	Table  uint32    `json:"table"`
	Number int       `json:"number"`
	Addrs  []Address `json:"addrs,omitempty"`
	Routes []Route   `json:"routes,omitempty"`
	Neighs []Neigh   `json:"neighs,omitempty"`
}

// Interface is an XFRM interface: packets from red that are routed to it meet the policies of its
// if_id. In a VRF those are the packets of that VRF, and the policies are the VRF's.
type Interface struct {
	Name string `json:"name"`
	IfID uint32 `json:"if_id"`
	// VRF has the interface; empty: none.
	VRF string `json:"vrf,omitempty"`
}

// Address is an address of one of the ports, with the length of its network.
type Address struct {
	Prefix netip.Prefix `json:"prefix"`
	Place
}

// Link is the configuration of a port.
type Link struct {
	MTU     uint32    `json:"mtu,omitempty"`
	Address *xfrm.MAC `json:"address,omitempty"`
	Down    bool      `json:"down,omitempty"`
	// Promisc: frames to other stations' addresses are taken, too.
	Promisc bool `json:"promisc,omitempty"`
	// Default is the next hop of row 0.
	Default *xfrm.MAC `json:"default,omitempty"`
	// Master is the bridge that the port is in.
	Master string `json:"master,omitempty"`
}

// Route leads to a gateway, or, without one, straight to the link.
type Route struct {
	Prefix netip.Prefix `json:"prefix"`
	Via    netip.Addr   `json:"via"`
	Place
	MTU uint32 `json:"mtu,omitempty"`
}

// Neigh is a neighbour's Ethernet address.
type Neigh struct {
	IP netip.Addr `json:"ip"`
	Place
	MAC xfrm.MAC `json:"mac"`
}

// Model is the configuration as written. A change works on a copy of it, from Begin.
type Model struct {
	SAs      SAs
	Policies Policies
	Network
	// FromLinux are the routes that Linux has, by set.
	FromLinux map[string]*learned.Routes `json:"-"`

	// Changes are those since Begin.
	Changes Changes
	// vrfName and number are those of a VRF's inside (Inside); else empty and 0.
	vrfName string
	number  int
	// bridged is where the ports were last put into a bridge or taken out.
	bridged xfrm.Pos
	// redMTU is where red last got an MTU or an IPv6 address, which must go together; nil if this
	// change gives it neither.
	redMTU *xfrm.Pos
	// replacing says that Replace is at work, whose policies come last.
	replacing bool
}

// Network is what a model has besides SAs and policies, which is little.
type Network struct {
	Addrs  []Address        `json:"addrs"`
	Links  map[string]*Link `json:"links"`
	Routes []Route          `json:"routes"`
	Neighs []Neigh          `json:"neighs"`
	VLANs  []VLAN           `json:"vlans,omitempty"`
	// VRFs have the addresses, routes and hosts of their VLANs, which are not among those above.
	VRFs []VRF `json:"vrfs,omitempty"`
	// Learned are addresses of hosts that the kernel found; those in Neighs come first.
	Learned map[NextHop]xfrm.MAC `json:"learned,omitempty"`
	// Reassembly are the limits of datagrams that wait for fragments.
	Reassembly Reassembly `json:"reassembly,omitzero"`
	// Punt has the limits of punted and injected frames that differ from those after reset, by
	// device and group.
	Punt map[string]map[string]Limit `json:"punt,omitempty"`
	// Interfaces are the XFRM interfaces.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Bridge is the name of the bridge, if there is one.
	Bridge string `json:"bridge,omitempty"`
	// Priority has the DSCPs whose packets pass the others, where they are not those of the reset.
	Priority *xfrm.DSCPs `json:"priority,omitempty"`
	// Skipped are the extension headers that are skipped, where they are not those of the reset.
	Skipped *xfrm.ExtensionHeaders `json:"skip_headers,omitempty"`
	NextAge uint64                 `json:"next_age"`
	// LastIndex is the highest index given to a policy.
	LastIndex uint32 `json:"last_index"`
	// LastNetwork is the number given to a VRF last.
	LastNetwork int `json:"last_network,omitempty"`
}

// NewModel is a box after reset.
func NewModel() *Model {
	return &Model{SAs: NewSAs(), Policies: NewPolicies(), Network: Network{Links: map[string]*Link{xfrm.Red: {}, xfrm.Black: {}}}, FromLinux: noRoutes(), Changes: newChanges()}
}

func noRoutes() map[string]*learned.Routes {
	sets := map[string]*learned.Routes{}
	for _, set := range learned.Sets {
		sets[set] = learned.New()
	}
	return sets
}

// PriorityDSCPs is the set of DSCPs whose packets pass the others.
func (m *Model) PriorityDSCPs() xfrm.DSCPs {
	if m.Priority == nil {
		return xfrm.ResetDSCPs
	}
	return *m.Priority
}

// SkippedHeaders is the set of extension headers that are skipped to find a packet's protocol.
func (m *Model) SkippedHeaders() xfrm.ExtensionHeaders {
	if m.Skipped == nil {
		return xfrm.AllExtensionHeaders
	}
	return *m.Skipped
}

// setSkipped refuses to skip what a policy or an SA's sel names.
func (m *Model) setSkipped(c xfrm.SkipHeaders) error {
	for p := range m.Policies.All() {
		if p.CheckExtensions(c.Skipped, c.Pos) != nil {
			return xfrm.Errorf(c.Pos, "the policy %s dir %s would match no packet if protocol %d were skipped: delete it first", p.Selector, p.Dir, p.Proto)
		}
	}
	for sa := range m.SAs.All() {
		if sa.Sel != nil && sa.Sel.CheckExtensions(c.Skipped, c.Pos) != nil {
			return xfrm.Errorf(c.Pos, "the sel of the SA spi 0x%x would match no packet if protocol %d were skipped: delete it first", sa.SPI, sa.Sel.Proto)
		}
	}
	m.Skipped = &c.Skipped
	return nil
}

func (m *Model) age() uint64 {
	m.NextAge++
	return m.NextAge
}
