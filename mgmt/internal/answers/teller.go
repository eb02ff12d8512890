// SPDX-License-Identifier: Apache-2.0

// Package answers tells the senders of packets by ICMP what became of these, and others which flows
// lack an SA. It bounds how often it does so.
package answers

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/hostrows"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/shares"
	"sallyport/mgmt/internal/xfrm"
)

// Box is the box as answers need it.
type Box interface {
	// View is the configuration that the chips hold.
	View() (*session.View, error)
	// SendBy sends by a configuration, and not once the chips have another one.
	SendBy(v *session.View, send func() error) (sent bool, err error)
}

// Teller answers senders of punted packets. Its methods may be called by several goroutines.
type Teller struct {
	box     Box
	log     *slog.Logger
	now     func() time.Time
	tell    func(events.Event) // of flows that lack an SA
	tallies *hostrows.Tallies
	shares  *shares.Shares
}

// New makes a teller for whose answers all shares are full.
func New(box Box, log *slog.Logger, now func() time.Time, tell func(events.Event), tallies *hostrows.Tallies) *Teller {
	return &Teller{box, log, now, tell, tallies, shares.New()}
}

// reply sends a message to the sender of a packet, if there is a share for it and then `note` is
// true. With `secret` it does so only as long as the policies protect the message: those of the
// packet's VRF, by the tag of one of its VLANs, without which nothing is told.
func (t *Teller) reply(v *session.View, flow xfrm.Selector, message []byte, to Way, note func() bool) (sent bool, err error) {
	if to.Secret && flow.VRF != "" {
		id, ok := v.VLANOf(flow.VRF)
		if !ok {
			return false, nil
		}
		message = punt.Tagged(message, id)
	}
	if to.Secret && leaks(v, flow.VRF, message) || !t.shares.Take(flow.VRF, flow.Src.Addr(), t.now()) || !note() {
		return false, nil
	}
	send := func() error { return to.Send(v, message) }
	if to.Secret {
		return t.box.SendBy(v, send)
	}
	err = send()
	return err == nil, err
}

// answerer is the address that answers the sender of the packet of a flow by ICMP, and notes the
// flow's VRF. The address is not valid if none answers. `tooBig` is as of punt.Answerable.
func (t *Teller) answerer(frame Punted, flow *xfrm.Selector, to Way, tooBig bool) (v *session.View, from netip.Addr, err error) {
	if v, err = t.box.View(); err != nil || !punt.Answerable(*flow, tooBig) {
		return v, from, err
	}
	var ok bool
	if flow.VRF, ok = v.VRFOf(frame.Network); ok {
		from = to.From(v, *flow)
	}
	return v, from, nil
}

// TellSenders answers frames that the inner chip punted because they are too long for their path,
// until ctx ends or the chips fail: their senders learn how long packets may be. One flow is told
// once in AskAgain, no more than mostAsked flows in that time, and a source no more than its share.
func (t *Teller) TellSenders(ctx context.Context, frames <-chan Punted, to Way) error {
	return t.eachFlow(ctx, frames, func(frame Punted, flow xfrm.Selector, note func() bool) error {
		v, from, err := t.answerer(frame, &flow, to, true)
		if err != nil || !from.IsValid() {
			return err
		}
		packet, _ := punt.ReadPacket(frame.Bytes, v.Skipped())
		packet.VRF = flow.VRF
		mtu := to.MTU(v, packet)
		if mtu == 0 {
			return nil
		}
		head, data, _ := punt.SplitFrame(frame.Bytes)
		message, ok := punt.TooBig(head, data, from, mtu)
		if !ok {
			return nil
		}
		sent, err := t.reply(v, flow, message, to, note)
		if sent {
			t.log.Debug("a sender was told of the path's MTU", "src", flow.Src.Addr(), "dst", flow.Dst.Addr(), "mtu", mtu)
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
