// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"net/netip"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// Way says how the senders of packets are answered by ICMP: from which address, which is not
// valid if none answers; how long a packet may be, 0 if nothing says that any more; and by which
// way. With Secret no message goes that a policy would let out in clear.
type Way struct {
	From   func(v *session.View, flow xfrm.Selector) netip.Addr
	MTU    func(v *session.View, flow xfrm.Selector) uint32
	Send   func(v *session.View, frame []byte) error
	Secret bool
}

// sends sends by no configuration.
func sends(send func(frame []byte) error) func(*session.View, []byte) error {
	return func(_ *session.View, frame []byte) error { return send(frame) }
}

// ToRed answers stations at the red port, from the address there.
func ToRed(send func(frame []byte) error) Way {
	return Way{From: (*session.View).Router, MTU: (*session.View).TooLong, Send: sends(send)}
}

// ToBlack answers the senders of packets in clear for red. The policies decide over the message
// (RFC 4301, 6).
func ToBlack(send func(frame []byte) error) Way {
	return Way{From: (*session.View).Router, MTU: (*session.View).RedMTU, Send: sends(send)}
}

// ToTunnel answers those of packets that came protected. The message has the packet's head in it,
// so it goes protected too or not at all.
func ToTunnel(send func(frame []byte) error) Way {
	to := ToBlack(send)
	to.Secret = true
	return to
}

// ToLinux answers Linux's own packets. Linux believes no message from its own address, so it comes
// from the packet's destination.
func ToLinux(deliver func(frame []byte) error) Way {
	from := func(_ *session.View, flow xfrm.Selector) netip.Addr { return flow.Dst.Addr() }
	return Way{From: from, MTU: (*session.View).TooLong, Send: sends(deliver)}
}

// ToSource answers the senders of packets in clear for black: Linux of its own, and stations at red
// or behind routers there of all others. The punted frame does not say which station had the
// packet, so routes do.
func ToSource(linux, red Way) Way {
	by := func(v *session.View, source netip.Addr) Way {
		if v.Model().Owns(source) {
			return linux
		}
		return red
	}
	return Way{
		From: func(v *session.View, flow xfrm.Selector) (from netip.Addr) {
			if to := flow.Dst.Addr(); v.Model().IsBroadcast(to) || v.Model().Owns(to) {
				return from // the box is there
			}
			return by(v, flow.Src.Addr()).From(v, flow)
		},
		Send: func(v *session.View, frame []byte) error {
			to, _, _ := punt.Destination(frame)
			return by(v, to).Send(v, frame)
		},
	}
}

// ToStations answers stations at the red port that routes lead to, from the address there. If the
// chips do not know a station, `unknown` has the message: Linux may know it. It is not looked for,
// since a source may be forged.
func ToStations(send func(frame []byte) error, unknown func(station model.NextHop, message []byte)) Way {
	return Way{From: (*session.View).Router, Send: func(v *session.View, message []byte) error {
		m := v.Model()
		own := m.PortMAC(xfrm.Red)
		copy(message, own[:])
		to, _, _ := punt.Destination(message)
		hops := m.HopsTo(xfrm.Red, to)
		for _, hop := range hops {
			if mac := m.Station(xfrm.Red, hop); mac != (xfrm.MAC{}) {
				frame, _ := punt.Deliver(message, mac, m.TagsOf(m.HopVLAN(xfrm.Red, hop)))
				return send(frame)
			}
		}
		for _, hop := range hops {
			if at := (model.NextHop{Dev: xfrm.Red, IP: hop}); hop.IsValid() && m.InReach(at) {
				unknown(at, message)
				break
			}
		}
		return nil
	}}
}
