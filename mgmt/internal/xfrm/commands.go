// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"net/netip"
)

// Command is one parsed line.
type Command interface{ Where() Pos }

// At is embedded in every command.
type At struct{ Pos Pos }

// Where is the line of the command.
func (a At) Where() Pos { return a.Pos }

// The commands of `xfrm state`.
type (
	StateAdd struct {
		At
		Update bool
		State  State
	}
	// StateSelect deletes, gets, lists or deletes all that a filter matches.
	StateSelect struct {
		At
		Verb   Verb
		Filter StateFilter
	}
	StateFlush struct{ At }
	StateCount struct{ At }
)

// Wipe clears the keys in commands.
func Wipe(commands []Command) {
	for _, command := range commands {
		if add, ok := command.(StateAdd); ok {
			add.State.Wipe()
		}
	}
}

// Verb is the action of a selecting command.
type Verb int

const (
	Delete Verb = iota
	Get
	DeleteAll
	List
)

// Removes says whether the action deletes the objects that it finds.
func (v Verb) Removes() bool { return v == Delete || v == DeleteAll }

// StateFilter matches states; fields not given match all.
type StateFilter struct {
	Src, Dst netip.Prefix // of all bits in a Delete or Get
	Proto    string
	SPI      uint32
	Mode     string
	ReqID    uint32
}

// ID is the name of the one SA that a Delete or Get is for.
func (f StateFilter) ID() ID { return ID{f.Src.Addr(), f.Dst.Addr(), f.Proto, f.SPI} }

// Match says whether a state passes.
func (f StateFilter) Match(s *State) bool {
	return (!f.Src.IsValid() || f.Src.Contains(s.Src)) && (!f.Dst.IsValid() || f.Dst.Contains(s.Dst)) && (f.Proto == "" || f.Proto == s.Proto) &&
		(f.SPI == 0 || f.SPI == s.SPI) && (f.Mode == "" || f.Mode == s.Mode) && (f.ReqID == 0 || f.ReqID == s.ReqID)
}

// The commands of `xfrm policy`.
type (
	PolicyAdd struct {
		At
		Update bool
		Policy Policy
		Orphans
	}
	PolicySelect struct {
		At
		Verb   Verb
		Filter PolicyFilter
		Orphans
	}
	PolicyFlush struct {
		At
		Orphans
	}
	PolicyCount struct{ At }
)

// Orphans says what becomes of SAs that a change of policies leaves without any (RFC 4301, 4.4.1).
type Orphans struct{ Delete bool }

// PolicyFilter matches policies; fields not given match all, except that Delete and Get compare the
// whole selector.
type PolicyFilter struct {
	Selector Selector
	HasSel   bool
	Dir      Dir
	Index    uint32
	Action   Action
	Priority *uint32
	// IfID is compared by Delete and Get, and by others if it is given.
	IfID    uint32
	HasIfID bool
}

// String names the one policy of Delete and Get.
func (f PolicyFilter) String() string {
	if f.IfID != 0 {
		return fmt.Sprintf("dir %s, if_id 0x%x and selector %s", f.Dir, f.IfID, f.Selector)
	}
	return fmt.Sprintf("dir %s and selector %s", f.Dir, f.Selector)
}

// Match says whether a policy passes a list or deleteall.
func (f PolicyFilter) Match(p *Policy) bool {
	if f.HasSel {
		sel := f.Selector
		if sel.VRF == "" {
			sel.VRF = p.VRF // of all VRFs, and of none
		}
		if !sel.Holds(p.Selector) {
			return false
		}
	}
	return (!f.HasIfID || f.IfID == p.IfID) && (f.Dir == "" || f.Dir == p.Dir) && (f.Index == 0 || f.Index == p.Index) && (f.Action == "" || f.Action == p.Action) &&
		(f.Priority == nil || *f.Priority == p.Priority)
}

// The commands on devices, routes and neighbours. Del removes what Add of the same kind added.
type (
	Addr struct {
		At
		Del    bool
		Prefix netip.Prefix // as written: the address with the length of its network
		Dev    string
	}
	Link struct {
		At
		Dev     string
		MTU     uint32
		Address *MAC
		Up      *bool
		Promisc *bool
		Master  *string // the bridge, or of a VLAN or an XFRM interface the VRF; "" for none
	}
	// Bridge is a bridge over both ports (RFC 4301's bump in the wire).
	Bridge struct {
		At
		Name string
	}
	// VLAN is a device for one VLAN of a port, or inside another such device.
	VLAN struct {
		At
		Name, Parent string
		Protocol, ID uint16 // TPID and VID of its tag
	}
	// Interface is an XFRM interface: packets routed to it meet the policies of its if_id alone.
	Interface struct {
		At
		Name string
		IfID uint32
	}
	// VRF is a network apart: its VLANs and XFRM interfaces have addresses, routes, hosts and
	// policies of their own.
	VRF struct {
		At
		Name  string
		Table uint32
	}
	// LinkDelete deletes a bridge, a VLAN's device, a VRF or an XFRM interface.
	LinkDelete struct {
		At
		Name string
	}
	Route struct {
		At
		Del, Replace bool
		Prefix       netip.Prefix
		Via          netip.Addr // invalid: on the link itself
		Dev          string     // empty in a Del: any
		MTU          uint32
		VRF          string // whose route it is, if the line says so
		Table        uint32 // the same by the VRF's table; MainTable: of no VRF; 0: not said
		Encap        bool   // of packets out of tunnels: to black, through another tunnel
	}
	Neigh struct {
		At
		Del, Replace bool
		IP           netip.Addr
		MAC          MAC
		Dev          string
	}
	// NextHop sets row 0 of a device's next hops (`sallyctl next-hop default`, not in iproute2).
	NextHop struct {
		At
		Dev string
		MAC MAC
	}
	// PuntSet sets the token buckets of a trap group, or of injected frames (`sallyctl punt set`,
	// not in iproute2).
	PuntSet struct {
		At
		Group string  // AllGroups: of every trap group
		Dev   string  // empty: of both ports, where there is such a bucket
		Rate  *uint32 // packets/s, 0 no limit
		Burst *uint32
	}
	// Show lists addresses, links, routes, neighbours, or the limits of reassembly or of
	// punted frames.
	Show struct {
		At
		What string
	}
)
