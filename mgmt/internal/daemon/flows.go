// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"iter"
	"strconv"
	"time"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// Of packets of one flow the first in askAgain counts, and no more than mostAsked flows do in that
// time. While mostAsking frames wait, others are dropped.
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

// questions are the flows for which an SA was asked, or whose sender was told, and when.
type questions map[xfrm.Selector]time.Time

// waiting says whether that was just now.
func (q questions) waiting(flow xfrm.Selector, now time.Time) bool {
	at, asked := q[flow]
	return asked && now.Sub(at) < askAgain
}

// add notes a flow, or says that there are too many.
func (q questions) add(flow xfrm.Selector, now time.Time) bool {
	if len(q) >= mostAsked {
		for other, at := range q {
			if now.Sub(at) >= askAgain {
				delete(q, other)
			}
		}
	}
	if len(q) >= mostAsked {
		return false
	}
	q[flow] = now
	return true
}

// eachFlow hands punted frames to `handle` until ctx ends or it fails, but for those of a flow that
// it noted just now; `note` does that, and is false if too many are noted.
func (d *Daemon) eachFlow(ctx context.Context, frames <-chan punted, handle func(frame punted, flow xfrm.Selector, note func() bool) error) error {
	noted := questions{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			flow, ok := punt.Flow(frame.bytes)
			now := d.now()
			key := flow // equal flows of two networks are two
			key.Dev = strconv.Itoa(frame.network)
			if !ok || noted.waiting(key, now) {
				continue
			}
			if err := handle(frame, flow, func() bool { return noted.add(key, now) }); err != nil {
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

// crowded is the network that has most of some hosts with a further one.
func crowded(hosts iter.Seq[model.NextHop], further int) int {
	of, most := map[int]int{further: 1}, further
	for hop := range hosts {
		of[hop.Network]++
	}
	for network, count := range of {
		if count > of[most] {
			most = network
		}
	}
	return most
}

// inTurn are some hosts so that each network has its turn, the networks in any order: one that has
// many does not keep Linux from looking for the hosts of another.
func inTurn(hosts iter.Seq[model.NextHop]) (out []model.NextHop) {
	byNetwork, most := map[int][]model.NextHop{}, 0
	for hop := range hosts {
		byNetwork[hop.Network] = append(byNetwork[hop.Network], hop)
		most = max(most, len(byNetwork[hop.Network]))
	}
	for place := range most {
		for _, own := range byNetwork {
			if place < len(own) {
				out = append(out, own[place])
			}
		}
	}
	return out
}
