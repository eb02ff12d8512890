// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net/netip"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/xfrm"
)

// Asking is what the box has to do with a packet that its inner chip punted by a policy.
type Asking int

const (
	AskedNothing Asking = iota // no policy speaks of it any more: it is dropped
	// its policy protects, and has no SA for it: key management is asked for one
	AskedSA
	AskedPunt // its policy is to punt
)

// Acquire says what the policy of a packet wants that the inner chip punted for it (RFC 4301, 5.1
// step 3b); with AskedSA comes the event.
func (v *View) Acquire(packet xfrm.Selector) (Asking, events.Event) {
	switch p := v.model.OutPolicy(packet); {
	case p == nil:
	case p.Template != nil:
		return AskedSA, events.AcquireOf(p, packet)
	case p.Action == xfrm.ActionPunt:
		return AskedPunt, events.Event{}
	}
	return AskedNothing, events.Event{}
}

// Skipped are the extension headers behind which the chips look for a packet's protocol.
func (v *View) Skipped() xfrm.ExtensionHeaders { return v.model.SkippedHeaders() }

// TooLong computes the answer to the sender of a packet that the inner chip punted for its length
// (RFC 4301, 8.2.1): the longest packet of its flow that passes, from the address of the red port.
// It is 0 if there is no answer: the red port has no address of its IP version, as in a bridge, or
// the policy with the limit is gone.
func (v *View) TooLong(packet xfrm.Selector) (from netip.Addr, mtu uint32) {
	m := v.model
	from = m.Local(xfrm.Red, packet.Version() == 6)
	if p := m.OutPolicy(packet); p != nil && from.IsValid() && !m.Bump() {
		mtu = m.EntryMTU(p, packet)
	}
	return from, mtu
}
