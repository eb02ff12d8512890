package session

import (
	"net/netip"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// TooLong says what the sender of a packet has to be told that the inner chip punted for its length (RFC 4301, 8.2.1): the longest packet of its flow that passes, from the
// address of the red port. 0 if it is not to be told: the red port has no address of its IP version, as none has in a bridge, or the policy that had a limit is gone.
func (s *Session) TooLong(packet xfrm.Selector) (from netip.Addr, mtu uint32, err error) {
	err = s.querying(func(m *model.Model) error {
		from = m.Local(xfrm.Red, packet.Version() == 6)
		if p := m.OutPolicy(packet); p != nil && from.IsValid() && !m.Bump() {
			mtu = m.EntryMTU(p, packet)
		}
		return nil
	})
	return from, mtu, err
}
