// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"context"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// AnswerAsking takes frames that the inner chip punted by a policy, until ctx ends or the chips
// fail. Where an SA is missing that is an event, and the frame goes no further: Linux must not send
// it on in clear. A frame that a policy punts is delivered to Linux; the sender of one that a
// policy rejects is told.
func (t *Teller) AnswerAsking(ctx context.Context, frames <-chan Punted, deliver func(frame []byte) error, to Way) error {
	return t.eachFlow(ctx, frames, func(frame Punted, _ xfrm.Selector, note func() bool) error {
		asking, event, err := t.acquire(frame)
		switch {
		case err != nil:
			return err
		case asking == session.AskedPunt:
			return deliver(frame.Bytes)
		case asking == session.AskedReject:
			return t.TellFault(frame, Prohibited, to)
		case asking == session.AskedSA && note():
			t.tell(event)
		}
		return nil
	})
}

// acquire says what the policy of the packet in a frame wants; nothing if there is no packet, or if
// its VRF has gone.
func (t *Teller) acquire(frame Punted) (session.Asking, events.Event, error) {
	v, err := t.box.View()
	if err != nil {
		return session.AskedNothing, events.Event{}, err
	}
	packet, ok := punt.ReadPacket(frame.Bytes, v.Skipped())
	if !ok {
		return session.AskedNothing, events.Event{}, nil
	}
	if packet.VRF, ok = v.VRFOf(frame.Network); !ok {
		return session.AskedNothing, events.Event{}, nil
	}
	asking, event := v.Acquire(packet)
	return asking, event, nil
}
