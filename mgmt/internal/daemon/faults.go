// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net/netip"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// answers says how the senders of packets are answered by ICMP: from which address, which is not
// valid if none answers; how long a packet may be, 0 if nothing says that any more; and by which
// way. With `secret` no message goes that a policy would let out in clear.
type answers struct {
	from   func(v *session.View, flow xfrm.Selector) netip.Addr
	mtu    func(v *session.View, flow xfrm.Selector) uint32
	send   func(v *session.View, frame []byte) error
	secret bool
}

// sends does so by no configuration.
func sends(send func(frame []byte) error) func(*session.View, []byte) error {
	return func(_ *session.View, frame []byte) error { return send(frame) }
}

// toRed answers stations at the red port, from the address there.
func toRed(send func(frame []byte) error) answers {
	return answers{from: (*session.View).Router, mtu: (*session.View).TooLong, send: sends(send)}
}

// toBlack answers the senders of packets in clear for red. The policies decide over the message
// (RFC 4301, 6).
func toBlack(send func(frame []byte) error) answers {
	return answers{from: (*session.View).Router, mtu: (*session.View).RedMTU, send: sends(send)}
}

// toTunnel answers those of packets that came protected. The message has the packet's head in it,
// so it goes protected too or not at all.
func toTunnel(send func(frame []byte) error) answers {
	to := toBlack(send)
	to.secret = true
	return to
}

// toLinux answers Linux's own packets. Linux believes no message from its own address, so it comes
// from the packet's destination.
func toLinux(deliver func(frame []byte) error) answers {
	from := func(_ *session.View, flow xfrm.Selector) netip.Addr { return flow.Dst.Addr() }
	return answers{from: from, mtu: (*session.View).TooLong, send: sends(deliver)}
}

// toSource answers the senders of packets in clear for black: Linux of its own, and stations at red
// or behind routers there of all others. The punted frame does not say which station had the
// packet, so routes do.
func toSource(linux, red answers) answers {
	by := func(v *session.View, source netip.Addr) answers {
		if v.Model().Owns(source) {
			return linux
		}
		return red
	}
	return answers{
		from: func(v *session.View, flow xfrm.Selector) (from netip.Addr) {
			if v.Model().IsBroadcast(flow.Dst.Addr()) {
				return from
			}
			return by(v, flow.Src.Addr()).from(v, flow)
		},
		send: func(v *session.View, frame []byte) error {
			to, _, _ := punt.Destination(frame)
			return by(v, to).send(v, frame)
		},
	}
}

// towardsRed answers the senders of packets in clear for black.
func (d *Daemon) towardsRed() answers {
	red := answers{from: (*session.View).Router, send: d.sendRed}
	return toSource(toLinux(d.host.devices.DeliverTunnels), red)
}

// towardsBlack answers the senders of packets that came protected, or of those in clear.
func (d *Daemon) towardsBlack(protected bool) answers {
	byPolicy := func(frame []byte) error { return d.host.frames.Send(transport.ByPolicy, frame) }
	if protected {
		return toTunnel(byPolicy)
	}
	return toBlack(byPolicy)
}

// betweenTunnels answers the senders of packets out of a tunnel for another one, which may be too
// long for that one.
func (d *Daemon) betweenTunnels() answers {
	to := d.towardsBlack(true)
	to.mtu = (*session.View).TooLong
	return to
}

// judge says which fault the sender of a packet is told of; false: none.
type judge func(v *session.View, flow xfrm.Selector) (punt.Fault, bool)

// always is one fault.
func always(fault punt.Fault) judge {
	return func(*session.View, xfrm.Selector) (punt.Fault, bool) { return fault, true }
}

var expired, prohibited, noHost = always(punt.TimeExceeded), always(punt.Prohibited), always(punt.HostUnreachable)

// noRouteBy is what Linux would tell of a packet that leads nowhere at a port; of a blackhole it
// tells nothing.
func noRouteBy(dev string) judge {
	return func(v *session.View, flow xfrm.Selector) (punt.Fault, bool) {
		switch v.Nowhere(dev, flow) {
		case "blackhole":
			return punt.Fault{}, false
		case "prohibit":
			return punt.Prohibited, true
		case "unreachable":
			return punt.HostUnreachable, true
		}
		return punt.NetUnreachable, true
	}
}

var noRoute, noRouteBlack = noRouteBy(xfrm.Red), noRouteBy(xfrm.Black)

// tellFaults answers frames that the inner chip punted for a fault, until ctx ends or the chips
// fail: so traceroute shows the box. A source gets no more than its share of answers.
func (d *Daemon) tellFaults(ctx context.Context, frames <-chan punted, fault judge, to answers) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			if err := d.tellFault(frame, fault, to); err != nil {
				return err
			}
		}
	}
}

// tellFault tells the sender of the packet in a frame of a fault, if ICMP may answer the packet.
func (d *Daemon) tellFault(frame punted, fault judge, to answers) error {
	flow, ok := punt.Flow(frame.bytes)
	if !ok {
		return nil
	}
	v, from, err := d.answerer(frame, &flow, to, false)
	if err != nil || !from.IsValid() {
		return err
	}
	told, is := fault(v, flow)
	head, data, _ := punt.SplitFrame(frame.bytes)
	message, ok := punt.Answer(head, data, from, told)
	if !ok || !is {
		return nil
	}
	sent, err := d.reply(v, flow, message, to, func() bool { return true })
	if sent {
		d.log.Debug("a sender was told of a fault", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "fault", told.String())
	}
	return err
}

// reply sends a message to the sender of a packet, if there is a share for it and then `note` is
// true. With `secret` it does so only as long as the policies protect the message: those of the
// packet's VRF, by the tag of one of its VLANs, without which nothing is told.
func (d *Daemon) reply(v *session.View, flow xfrm.Selector, message []byte, to answers, note func() bool) (sent bool, err error) {
	if to.secret && flow.VRF != "" {
		id, ok := v.VLANOf(flow.VRF)
		if !ok {
			return false, nil
		}
		message = punt.Tagged(message, id)
	}
	if to.secret && leaks(v, flow.VRF, message) || !d.shares.Take(flow.VRF, flow.Src.Addr(), d.now()) || !note() {
		return false, nil
	}
	send := func() error { return to.send(v, message) }
	if to.secret {
		return d.session.SendBy(v, send)
	}
	err = send()
	return err == nil, err
}

// answerer is the address that answers the sender of the packet of a flow by ICMP, and notes the
// flow's VRF. The address is not valid if none answers. `tooBig` is as of punt.Answerable.
func (d *Daemon) answerer(frame punted, flow *xfrm.Selector, to answers, tooBig bool) (v *session.View, from netip.Addr, err error) {
	if v, err = d.view(); err != nil || !punt.Answerable(*flow, tooBig) {
		return v, from, err
	}
	var ok bool
	if flow.VRF, ok = v.VRFOf(frame.network); ok {
		from = to.from(v, *flow)
	}
	return v, from, nil
}

// tellSenders answers frames that the inner chip punted because they are too long for their path,
// until ctx ends or the chips fail: their senders learn how long packets may be. One flow is told
// once in askAgain, no more than mostAsked flows in that time, and a source no more than its share.
func (d *Daemon) tellSenders(ctx context.Context, frames <-chan punted, to answers) error {
	return d.eachFlow(ctx, frames, func(frame punted, flow xfrm.Selector, note func() bool) error {
		v, from, err := d.answerer(frame, &flow, to, true)
		if err != nil || !from.IsValid() {
			return err
		}
		packet, _ := punt.ReadPacket(frame.bytes, v.Skipped())
		packet.VRF = flow.VRF
		mtu := to.mtu(v, packet)
		if mtu == 0 {
			return nil
		}
		head, data, _ := punt.SplitFrame(frame.bytes)
		message, ok := punt.TooBig(head, data, from, mtu)
		if !ok {
			return nil
		}
		sent, err := d.reply(v, flow, message, to, note)
		if sent {
			d.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", mtu)
		}
		return err
	})
}

// leaks says whether a message by the policies of a VRF would leave in clear, or cannot be read.
func leaks(v *session.View, vrf string, message []byte) bool {
	packet, ok := punt.ReadPacket(message, v.Skipped())
	packet.VRF = vrf
	return !ok || v.Bypasses(packet)
}
