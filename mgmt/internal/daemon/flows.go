// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fair"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// Of packets of one flow the first in askAgain counts. Of no more than mostAsked flows the daemon
// knows that they did, and of too many those of the network that has most count no more. So with 63
// networks some 1,200 flows count in that time. While mostAsking frames wait, others are dropped.
const (
	askAgain   = time.Second
	mostAsked  = 256
	mostAsking = 256
)

// punted is a frame that the inner chip punted, and the number of the network of its packet.
type punted struct {
	bytes   []byte
	network int
}

// question is a flow in the network of a number: equal flows of two networks are two.
type question struct {
	flow    xfrm.Selector
	network int
}

// questions are the flows for which an SA was asked, or whose sender was told, and when.
type questions struct {
	*fair.Places[int, question, time.Time]
}

func newQuestions() questions {
	return questions{fair.New[int, question, time.Time](mostAsked, func(q question) int { return q.network })}
}

// waiting says whether that was just now.
func (q questions) waiting(about question, now time.Time) bool {
	at, asked := q.Get(about)
	return asked && now.Sub(at) < askAgain
}

// add notes a flow, or says that there are too many of its network.
func (q questions) add(about question, now time.Time) bool {
	if q.Len() >= mostAsked {
		for other, at := range q.All() {
			if now.Sub(at) >= askAgain {
				q.Delete(other)
			}
		}
	}
	return q.Offer(about, now)
}

// eachFlow hands punted frames to `handle` until ctx ends or it fails, but for those of a flow that
// it noted just now; `note` does that, and is false if too many of the network are noted.
func (d *Daemon) eachFlow(ctx context.Context, frames <-chan punted, handle func(frame punted, flow xfrm.Selector, note func() bool) error) error {
	noted := newQuestions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			flow, ok := punt.Flow(frame.bytes)
			now, about := d.now(), question{flow, frame.network}
			if !ok || noted.waiting(about, now) {
				continue
			}
			note := func() bool {
				fits := noted.add(about, now)
				if !fits {
					d.tallies.Refuse(frame.network)
				}
				return fits
			}
			if err := handle(frame, flow, note); err != nil {
				return err
			}
		}
	}
}

// answerAsking takes frames that the inner chip punted by a policy, until ctx ends or the chips
// fail. Where an SA is missing that is an event, and the frame goes no further: Linux must not send
// it on in clear. A frame that a policy punts is delivered to Linux; the sender of one that a
// policy rejects is told.
func (d *Daemon) answerAsking(ctx context.Context, frames <-chan punted, deliver func(frame []byte) error, to answers) error {
	return d.eachFlow(ctx, frames, func(frame punted, _ xfrm.Selector, note func() bool) error {
		asking, event, err := d.acquire(frame)
		switch {
		case err != nil:
			return err
		case asking == session.AskedPunt:
			return deliver(frame.bytes)
		case asking == session.AskedReject:
			return d.tellFault(frame, prohibited, to)
		case asking == session.AskedSA && note():
			d.tell(event)
		}
		return nil
	})
}

// acquire says what the policy of the packet in a frame wants; nothing if there is no packet, or if
// its VRF has gone.
func (d *Daemon) acquire(frame punted) (session.Asking, events.Event, error) {
	v, err := d.view()
	if err != nil {
		return session.AskedNothing, events.Event{}, err
	}
	packet, ok := punt.ReadPacket(frame.bytes, v.Skipped())
	if !ok {
		return session.AskedNothing, events.Event{}, nil
	}
	if packet.VRF, ok = v.VRFOf(frame.network); !ok {
		return session.AskedNothing, events.Event{}, nil
	}
	asking, event := v.Acquire(packet)
	return asking, event, nil
}

// keepWaiting has packets to hosts at a port wait for their Ethernet addresses, until ctx ends or
// the chips fail. The senders of packets to no host straight behind the port are told. `tunnel`
// says that the packets came protected.
func (d *Daemon) keepWaiting(ctx context.Context, frames <-chan punted, dev string, tunnel bool) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			v, err := d.view()
			if err != nil {
				return err
			}
			host, length, ok := punt.Destination(frame.bytes)
			vrf, known := v.VRFOf(frame.network)
			_, resolves := v.Resolves(dev, vrf, host)
			switch {
			case !ok || !known || uint32(length) > v.Model().Mtu(dev):
				// Its network is gone, or Linux would have to cut it.
			case !resolves:
				err = d.tellFault(frame, noRouteBy(dev), d.towards(dev, tunnel))
			case mayLeave(v, dev, frame.bytes):
				d.host.waiting.Keep(waiting.Packet{Frame: frame.bytes, To: waiting.Host{Dev: dev, VRF: vrf, IP: host}, Tunnel: tunnel}, d.now())
				d.seek(model.NextHop{Dev: dev, IP: host, Network: frame.network})
			}
			if err != nil {
				return err
			}
		}
	}
}

// mayLeave says whether a packet that waited may leave by a port. Its policy may have changed
// meanwhile, and must still let it out of black in clear. That of a later fragment is not known.
func mayLeave(v *session.View, dev string, frame []byte) bool {
	packet, ok := punt.ReadPacket(frame, v.Skipped())
	return dev == xfrm.Red || ok && v.Bypasses(packet)
}

// towards answers the senders of packets that were to leave by a port.
func (d *Daemon) towards(dev string, tunnel bool) answers {
	if dev == xfrm.Black {
		return d.towardsRed()
	}
	return d.towardsBlack(tunnel)
}

// seek has Linux look for a host.
func (d *Daemon) seek(host model.NextHop) {
	select {
	case d.host.unresolved[host.Dev] <- host:
	default: // its next packets tell again
	}
}

// forward sends packets that have waited for one host, now that its Ethernet address is known, if
// it is still one at its port, in their VRF. While a change is made they wait on, for the host's
// VLAN may be another VRF's meanwhile, and the policies of clear packets others. The inner chip has
// lowered the TTL of packets for black.
func (d *Daemon) forward(packets []waiting.Packet, to xfrm.MAC) error {
	if len(packets) == 0 {
		return nil
	}
	v, err := d.view()
	if err != nil {
		return err
	}
	at := packets[0].To
	tags, resolves := v.Resolves(at.Dev, at.VRF, at.IP)
	onward := punt.Forward
	if at.Dev == xfrm.Black {
		onward = punt.Deliver
	}
	for _, packet := range packets {
		if frame, ok := onward(packet.Frame, to, tags); ok && resolves && mayLeave(v, at.Dev, packet.Frame) {
			sent, err := d.session.SendBy(v, func() error { return d.host.frames.Send(portOf[at.Dev], frame) })
			if err != nil {
				return err
			}
			if !sent {
				d.host.waiting.Keep(packet, d.now())
			}
		}
	}
	return nil
}

// giveUp tells the senders of packets that their host does not answer.
func (d *Daemon) giveUp(packets []waiting.Packet) error {
	v, err := d.view()
	if err != nil {
		return err
	}
	for _, packet := range packets {
		number := v.Model().NetworkOf(packet.To.VRF)
		if packet.To.VRF != "" && number == 0 {
			continue // it is gone
		}
		if err := d.tellFault(punted{packet.Frame, number}, noHost, d.towards(packet.To.Dev, packet.Tunnel)); err != nil {
			return err
		}
	}
	return nil
}
