// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// answerAsking takes frames that the inner chip punted by a policy, until ctx ends or the chips
// fail. Where an SA is missing that is an event, and the frame goes no further: nobody may send it
// on in clear. What a policy punts is delivered to Linux.
func (d *Daemon) answerAsking(ctx context.Context, frames <-chan []byte, deliver func(frame []byte) error) error {
	return d.eachFlow(ctx, frames, func(frame []byte, _ xfrm.Selector, note func() bool) error {
		asking, event, err := d.acquire(frame)
		switch {
		case err != nil:
			return err
		case asking == session.AskedPunt:
			return deliver(frame)
		case asking == session.AskedSA && note():
			d.tell(event)
		}
		return nil
	})
}

// acquire says what the policy of the packet in a frame wants; nothing if there is no packet.
func (d *Daemon) acquire(frame []byte) (session.Asking, events.Event, error) {
	v, err := d.view()
	if err != nil {
		return session.AskedNothing, events.Event{}, err
	}
	packet, ok := punt.ReadPacket(frame, v.Skipped())
	if !ok {
		return session.AskedNothing, events.Event{}, nil
	}
	asking, event := v.Acquire(packet)
	return asking, event, nil
}
