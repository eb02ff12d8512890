// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"net/netip"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
)

// Lead is a next hop that rows lead to: those of the SA of an age, or, without one, of a policy.
type Lead struct {
	User   uint64
	Dev    string
	Hop    netip.Addr // invalid: the default one
	Wanted netip.Addr // a host whose address is to be learned; invalid: none
	// Network is the number of the network of both.
	Network int
}

// Standing is what a change has to know of all the rows that it does not touch. It follows from the
// model and the image, and is kept beside them so that a change need not look at all of them.
type Standing struct {
	windows, usage RowSet          // rows that are taken
	leads          map[uint64]Lead // by age of the SA
	hops, wanted   map[model.NextHop]int
	flows          map[int]int       // how many flows and rows by prefix lead to an outbound SA
	clear          map[int]int       // how many of these lead to a next hop of black
	roomless       map[string]Placed // peers without a row, by their keys
	ways           map[string]*Ways  // by device; nil if they have to be read from the image
	bypass         [2]bool           // the crypto chip lets clear packets pass, each way
}

// NewStanding counts all. Peers that found no room are told of it.
func NewStanding(m *model.Model, image *Image, t *Target, roomless []Placed) *Standing {
	s := &Standing{leads: map[uint64]Lead{}, hops: map[model.NextHop]int{}, wanted: map[model.NextHop]int{}, flows: map[int]int{}, clear: map[int]int{}, bypass: [2]bool{t.BypassEncrypt, t.BypassDecrypt}}
	s.roomless = byPeerKey(roomless)
	for sa := range m.SAs.All() {
		s.takeWindows(sa)
	}
	s.usage.Add(0)
	for p := range m.Policies.All() {
		s.usage.Add(p.Usage)
	}
	for _, lead := range t.Leads {
		s.count(lead, 1)
	}
	for _, rows := range []map[int]Row{image.Flow, image.PrefixPolicy} {
		for _, row := range rows {
			s.flow(row, 1)
		}
	}
	return s
}

func (s *Standing) takeWindows(sa *model.SA) {
	for _, row := range sa.WindowRows {
		s.windows.Add(row)
	}
}

func (s *Standing) count(lead Lead, by int) {
	add := func(to map[model.NextHop]int, ip netip.Addr) {
		if !ip.IsValid() {
			return
		}
		hop := model.NextHop{Dev: lead.Dev, IP: ip, Network: lead.Network}
		if to[hop] += by; to[hop] == 0 {
			delete(to, hop)
		}
	}
	add(s.hops, lead.Hop)
	add(s.wanted, lead.Wanted)
	switch {
	case lead.User == 0:
	case by > 0:
		s.leads[lead.User] = lead
	default:
		delete(s.leads, lead.User)
	}
}

func (s *Standing) flow(row Row, by int) {
	f, to := regs.FlowRow, s.flows
	if len(row) == 0 || f.ByDscp.Get(row) != 0 {
		return
	}
	switch f.Action.Get(row) {
	case regs.ActionProtect:
	case regs.ActionBypass:
		to = s.clear
	default:
		return
	}
	index := int(f.Sa.Get(row))
	if to[index] += by; to[index] == 0 {
		delete(to, index)
	}
}

// TakeWays gives the trees of prefixes, by device, to a change, which gives them back once it is
// done.
func (s *Standing) TakeWays() (w map[string]*Ways) {
	w, s.ways = s.ways, nil
	return w
}

// KeepWays takes the trees back.
func (s *Standing) KeepWays(w map[string]*Ways) { s.ways = w }

// HasWays says whether the trees are known.
func (s *Standing) HasWays() bool { return s.ways != nil }

// Protects says whether a flow or a policy by prefix protects by the SA of a row.
func (s *Standing) Protects(row int) bool { return s.flows[row] > 0 }

// Bypasses says whether one bypasses to a next hop of black.
func (s *Standing) Bypasses(row int) bool { return s.clear[row] > 0 }

// Follow takes over what a part of a change has done: to the model and, of flows and policies by
// prefix, from what they were to what they are. Of the peers of the part some found no room.
func (s *Standing) Follow(ch *model.Changes, t *Target, roomless []Placed, before, after []Row) {
	s.roomless = s.RoomlessAfter(t, roomless)
	for _, sa := range ch.Removed() {
		for _, row := range sa.WindowRows {
			s.windows.Remove(row)
		}
	}
	for _, p := range ch.RemovedPolicies() {
		if p.Usage != 0 {
			s.usage.Remove(p.Usage)
		}
	}
	for _, sa := range ch.SAs {
		s.takeWindows(sa)
	}
	for _, p := range ch.Policies {
		s.usage.Add(p.Usage)
	}
	for _, lead := range t.Part.Ended {
		s.count(lead, -1)
	}
	for _, lead := range t.Leads {
		s.count(lead, 1)
	}
	for _, row := range before {
		s.flow(row, -1)
	}
	for _, row := range after {
		s.flow(row, 1)
	}
}

// hopRow is the row of a next hop that is on the chip.
func (i *Image) hopRow(hop model.NextHop) (row int, found bool) {
	for index, h := range i.Hops(hop.Dev) {
		if h.IP == hop.IP && h.Network == hop.Network {
			return index, true
		}
	}
	return 0, false
}
