// Package box turns what an administrator wrote (states, policies, addresses, routes, neighbours) into rows of the chips'
// tables, and keeps account of both between invocations.
package box

import (
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// SA is a state with what the box decided about it.
type SA struct {
	xfrm.State
	// Way is the direction the SA has here; Given by the administrator's `dir`, or worked out.
	Way xfrm.Dir `json:"way"`
	// Row is its index in the tables of its direction.
	Row int `json:"row"`
	// Age orders SAs by when they were added.
	Age uint64 `json:"age"`

	pos   xfrm.Pos
	fresh bool // not on the chips yet
}

// Policy is an SPD entry.
type Policy struct {
	xfrm.Policy
	Age uint64 `json:"age"`

	pos xfrm.Pos
}

// Address is an address of one of the ports, with the length of its network.
type Address struct {
	Prefix netip.Prefix `json:"prefix"`
	Dev    string       `json:"dev"`
}

// Link is the configuration of a port.
type Link struct {
	MTU     uint32    `json:"mtu,omitempty"`
	Address *xfrm.MAC `json:"address,omitempty"`
	Down    bool      `json:"down,omitempty"`
	// Default is the next hop of row 0.
	Default *xfrm.MAC `json:"default,omitempty"`
}

// Route leads to a gateway, or, without one, straight to the link.
type Route struct {
	Prefix netip.Prefix `json:"prefix"`
	Via    netip.Addr   `json:"via"`
	Dev    string       `json:"dev"`
	MTU    uint32       `json:"mtu,omitempty"`
}

// Neigh is a neighbour's Ethernet address.
type Neigh struct {
	IP  netip.Addr `json:"ip"`
	Dev string     `json:"dev"`
	MAC xfrm.MAC   `json:"mac"`
}

// Model is the configuration as written.
type Model struct {
	SAs      []*SA            `json:"sas"`
	Policies []*Policy        `json:"policies"`
	Addrs    []Address        `json:"addrs"`
	Links    map[string]*Link `json:"links"`
	Routes   []Route          `json:"routes"`
	Neighs   []Neigh          `json:"neighs"`
	NextAge  uint64           `json:"next_age"`
}

// NewModel is a box after reset.
func NewModel() *Model {
	return &Model{Links: map[string]*Link{xfrm.Red: {}, xfrm.Black: {}}}
}

func (m *Model) age() uint64 {
	m.NextAge++
	return m.NextAge
}

// findSA looks an SA up as Linux does: destination, protocol and SPI.
func (m *Model) findSA(id xfrm.ID) *SA {
	for _, sa := range m.SAs {
		if sa.Dst == id.Dst && sa.Proto == id.Proto && sa.SPI == id.SPI {
			return sa
		}
	}
	return nil
}

// findPolicy looks a policy up as Linux does: its selector and direction.
func (m *Model) findPolicy(sel xfrm.Selector, dir xfrm.Dir) *Policy {
	for _, p := range m.Policies {
		if p.Selector == sel && p.Dir == dir {
			return p
		}
	}
	return nil
}

// zeroKeys wipes the keys of SAs that were not installed yet.
func (m *Model) zeroKeys() {
	for _, sa := range m.SAs {
		sa.Aead.Key.Zero()
		sa.Aead.Salt.Zero()
		sa.Aead.Key, sa.Aead.Salt = nil, nil
	}
}
