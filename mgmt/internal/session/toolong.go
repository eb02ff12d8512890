// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

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
