// SPDX-License-Identifier: Apache-2.0

package session

import (
	"maps"
	"net/netip"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/steer"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/xfrm"
)

// source takes the box's events.
func (s *Session) source() *events.Source {
	if s.left == nil {
		s.left = map[string]uint64{}
	}
	return &events.Source{Box: s.Box, Now: s.now, Note: s.note, Left: s.left}
}

// Left has, by QueueNames, how often a queue had more events than are taken at a time.
func (s *Session) Left() map[string]uint64 { return maps.Clone(s.left) }

// Events takes the events of moved peers, of lifetimes and of sequence numbers. If it fails, it
// returns the events taken by then with the error.
func (s *Session) Events() (events []events.Event, err error) {
	err = s.reading(func(state *store.State) (err error) {
		events, err = s.source().Events(state.Model)
		return err
	})
	return events, err
}

// Audit takes the events of packets of inbound SAs that were dropped for their ICV, their number or
// their selectors, in the order of their times.
func (s *Session) Audit() (events []events.Event, err error) {
	err = s.reading(func(state *store.State) (err error) {
		events, err = s.source().Audit(state.Model)
		return err
	})
	return events, err
}

// Unresolved takes the hosts at the ports that packets went to and that have no row.
func (s *Session) Unresolved() (hosts []model.NextHop, err error) {
	err = s.reading(func(*store.State) (err error) {
		hosts, err = s.source().Hosts()
		return err
	})
	return hosts, err
}

// reading locks the configuration, so that no other takes events or moves SAs, and gives it to
// `use`, which changes nothing.
func (s *Session) reading(use func(*store.State) error) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	state, _, err := s.load()
	if err != nil {
		return err
	}
	return use(state)
}

// Asking is what the box has to do with a packet that its inner chip punted by a policy.
type Asking int

const (
	AskedNothing Asking = iota // no policy speaks of it any more: it is dropped
	// its policy protects, and has no SA for it: key management is asked for one
	AskedSA
	AskedPunt   // its policy is to punt
	AskedReject // its policy is to drop it and to tell the sender
)

// Acquire says what the policy of a packet wants that the inner chip punted for it (RFC 4301, 5.1
// step 3b); with AskedSA comes the event.
func (v *View) Acquire(packet xfrm.Selector) (Asking, events.Event) {
	if packet.VRF != "" && v.model.Inside(packet.VRF).Owns(packet.Dst.Addr()) {
		return AskedPunt, events.Event{} // before all policies of the VRF
	}
	switch p := steer.OutPolicy(v.model, packet); {
	case p == nil:
	case p.Template != nil:
		return AskedSA, events.AcquireOf(p, packet)
	case p.Action == xfrm.ActionPunt:
		return AskedPunt, events.Event{}
	case p.Action == xfrm.ActionReject:
		return AskedReject, events.Event{}
	}
	return AskedNothing, events.Event{}
}

// Bypasses reports whether a packet's policy lets it out in clear.
func (v *View) Bypasses(packet xfrm.Selector) bool {
	p := steer.OutPolicy(v.model, packet)
	return p != nil && p.Template == nil && p.Action == xfrm.ActionAllow
}

// Skipped are the extension headers behind which the chips look for a packet's protocol.
func (v *View) Skipped() xfrm.ExtensionHeaders { return v.model.SkippedHeaders() }

// Router is the address of the red port from which the box tells the sender of a packet from red,
// or for red, what became of it. It is not valid if the box tells nothing: in a bridge, without an
// address of the packet's IP version, and if source or destination is the broadcast address of a
// network of the box (RFC 1812, 4.3.2.7).
func (v *View) Router(packet xfrm.Selector) netip.Addr {
	m := v.model.Inside(packet.VRF)
	if m.Bump() || m.IsBroadcast(packet.Src.Addr()) || m.IsBroadcast(packet.Dst.Addr()) {
		return netip.Addr{}
	}
	return m.Local(xfrm.Red, packet.Version() == 6)
}

// Nowhere is the type of Linux's route that gives a packet no next hop at a port; "" if there is no
// such route.
func (v *View) Nowhere(dev string, packet xfrm.Selector) (kind string) {
	if r := v.model.Inside(packet.VRF).LinuxRoute(dev, packet.Dst); r != nil {
		kind = r.Type
	}
	return kind
}

// VRFOf is the VRF of packets of a network, "" of network 0; false if it is that of no VRF any
// more, or in doubt.
func (v *View) VRFOf(network int) (name string, ok bool) {
	for _, vrf := range v.model.VRFs {
		if vrf.Number == network {
			return vrf.Name, true
		}
	}
	return "", network == 0
}

// VLANOf is the ID of a VLAN of a VRF; false if it has none.
func (v *View) VLANOf(vrf string) (id uint16, ok bool) {
	for _, vlan := range v.model.VLANs {
		if vlan.VRF == vrf {
			return vlan.ID, true
		}
	}
	return 0, false
}

// Resolves says whether the box looks for a host at a port that packets of a VRF go to, or packets
// of none, and behind which VLAN tags it is. A VRF that is gone has no hosts.
func (v *View) Resolves(dev, vrf string, host netip.Addr) (tags []byte, is bool) {
	number := v.model.NetworkOf(vrf)
	if vrf != "" && number == 0 {
		return nil, false
	}
	own := v.model.Inside(vrf)
	if !own.Resolves(model.NextHop{Dev: dev, IP: host, Network: number}) {
		return nil, false
	}
	return v.model.TagsOf(own.HopVLAN(dev, host)), true
}

// RedMTU is the longest packet that leaves by the red port.
func (v *View) RedMTU(xfrm.Selector) (mtu uint32) { return v.model.Mtu(xfrm.Red) }

// TooLong is the longest packet of a packet's flow that passes (RFC 4301, 8.2.1); 0 if the policy
// with the limit is gone.
func (v *View) TooLong(packet xfrm.Selector) (mtu uint32) {
	if p := steer.OutPolicy(v.model, packet); p != nil {
		mtu = v.model.EntryMTU(p, packet)
	}
	return mtu
}
