// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net/netip"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// answers says how the senders of packets are answered by ICMP: from which address, which is not
// valid if none answers; how long a packet may be, 0 if nothing says that any more; and by which
// way. With `secret` no message goes that a policy would let out in clear.
type answers struct {
	from   func(v *session.View, flow xfrm.Selector) netip.Addr
	mtu    func(v *session.View, flow xfrm.Selector) uint32
	send   func(frame []byte) error
	secret bool
}

// toRed answers stations at the red port, from the address there.
func toRed(send func(frame []byte) error) answers {
	return answers{from: (*session.View).Router, mtu: (*session.View).TooLong, send: send}
}

// toBlack answers the senders of packets in clear for red. The policies decide over the message
// (RFC 4301, 6).
func toBlack(send func(frame []byte) error) answers {
	return answers{from: (*session.View).Router, mtu: (*session.View).RedMTU, send: send}
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
	return answers{from: from, mtu: (*session.View).TooLong, send: deliver}
}

// tellExpired answers frames that the inner chip punted because their TTL or hop limit is over,
// until ctx ends or the chips fail: so traceroute shows the box. A source gets no more than its
// share of answers.
func (d *Daemon) tellExpired(ctx context.Context, frames <-chan []byte, to answers) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			if err := d.tellFault(frame, punt.TimeExceeded, to); err != nil {
				return err
			}
		}
	}
}

// tellFault tells the sender of the packet in a frame of a fault, if ICMP may answer the packet.
func (d *Daemon) tellFault(frame []byte, fault punt.Fault, to answers) error {
	flow, ok := punt.Flow(frame)
	if !ok {
		return nil
	}
	_, from, err := d.answerer(flow, to)
	if err != nil || !from.IsValid() {
		return err
	}
	head, data, _ := punt.SplitFrame(frame)
	answer, ok := punt.Answer(head, data, from, fault)
	if !ok || !d.shares.Take(flow.Src.Addr(), d.now()) {
		return nil
	}
	d.log.Debug("a sender is told of a fault", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "fault", fault.String())
	return to.send(answer)
}

// answerer is the address that answers the sender of a packet by ICMP; it is not valid if none
// does.
func (d *Daemon) answerer(flow xfrm.Selector, to answers) (v *session.View, from netip.Addr, err error) {
	if v, err = d.view(); err == nil && punt.Answerable(flow) {
		from = to.from(v, flow)
	}
	return v, from, err
}

// tellSenders answers frames that the inner chip punted because they are too long for their path,
// until ctx ends or the chips fail: their senders learn how long packets may be. One flow is told
// once in askAgain, no more than mostAsked flows in that time, and a source no more than its share.
func (d *Daemon) tellSenders(ctx context.Context, frames <-chan []byte, to answers) error {
	return d.eachFlow(ctx, frames, func(frame []byte, flow xfrm.Selector, note func() bool) error {
		v, from, err := d.answerer(flow, to)
		if err != nil || !from.IsValid() {
			return err
		}
		packet, _ := punt.ReadPacket(frame, v.Skipped())
		mtu := to.mtu(v, packet)
		if mtu == 0 {
			return nil
		}
		head, data, _ := punt.SplitFrame(frame)
		answer, ok := punt.TooBig(head, data, from, mtu)
		if !ok || to.secret && leaks(v, answer) || !d.shares.Take(flow.Src.Addr(), d.now()) || !note() {
			return nil
		}
		send := func() error { return to.send(answer) }
		if !to.secret {
			err = send()
		} else if sent, failed := d.session.SendBy(v, send); !sent {
			return failed // a later packet asks again
		} else {
			err = failed
		}
		if err != nil {
			return err
		}
		d.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", mtu)
		return nil
	})
}

// leaks says whether a message by policy would leave in clear, or cannot be read.
func leaks(v *session.View, message []byte) bool {
	packet, ok := punt.ReadPacket(message, v.Skipped())
	return !ok || v.Bypasses(packet)
}
