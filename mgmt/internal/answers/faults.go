// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"context"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// Judge says which fault the sender of a packet is told of; false: none.
type Judge func(v *session.View, flow xfrm.Selector) (punt.Fault, bool)

// always is one fault.
func always(fault punt.Fault) Judge {
	return func(*session.View, xfrm.Selector) (punt.Fault, bool) { return fault, true }
}

// A packet of these has one fault, whatever the configuration.
var Expired, Prohibited, NoHost = always(punt.TimeExceeded), always(punt.Prohibited), always(punt.HostUnreachable)

// NoRouteBy is what Linux would tell of a packet that leads nowhere at a port; of a blackhole it
// tells nothing.
func NoRouteBy(dev string) Judge {
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

// NoRoute and NoRouteBlack are of the two ports.
var NoRoute, NoRouteBlack = NoRouteBy(xfrm.Red), NoRouteBy(xfrm.Black)

// TellFaults answers frames that the inner chip punted for a fault, until ctx ends or the chips
// fail: so traceroute shows the box. A source gets no more than its share of answers.
func (t *Teller) TellFaults(ctx context.Context, frames <-chan Punted, fault Judge, to Way) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			if err := t.TellFault(frame, fault, to); err != nil {
				return err
			}
		}
	}
}

// TellFault tells the sender of the packet in a frame of a fault, if ICMP may answer the packet.
func (t *Teller) TellFault(frame Punted, fault Judge, to Way) error {
	flow, ok := punt.Flow(frame.Bytes)
	if !ok {
		return nil
	}
	v, from, err := t.answerer(frame, &flow, to, false)
	if err != nil || !from.IsValid() {
		return err
	}
	told, is := fault(v, flow)
	head, data, _ := punt.SplitFrame(frame.Bytes)
	message, ok := punt.Answer(head, data, from, told)
	if !ok || !is {
		return nil
	}
	sent, err := t.reply(v, flow, message, to, func() bool { return true })
	if sent {
		t.log.Debug("a sender was told of a fault", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "fault", told.String())
	}
	return err
}
