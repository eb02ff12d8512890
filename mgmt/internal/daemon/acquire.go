package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/box"
	"sallyport/mgmt/internal/xfrm"
)

// Packets of one flow that has no SA are one event in askAgain, and there are no more than mostAsked events in that time. Frames of which mostAsking wait
// already are dropped.
const (
	askAgain   = time.Second
	mostAsked  = 256
	mostAsking = 256
)

// questions are the flows for which an SA was asked, and when.
type questions map[xfrm.Selector]time.Time

// waiting says whether an SA was asked for just now.
func (q questions) waiting(flow xfrm.Selector, now time.Time) bool {
	at, asked := q[flow]
	return asked && now.Sub(at) < askAgain
}

// add notes a question, or says that there are too many.
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

// answerAsking takes frames that the inner chip punted by a policy, until ctx ends or the chips fail. Where an SA is missing that is an event, and the
// frame goes no further: nobody may send it on in clear. What a policy punts is delivered to Linux.
func (d *Daemon) answerAsking(ctx context.Context, frames <-chan []byte, deliver func(frame []byte) error) error {
	asked := questions{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			flow, ok := box.Flow(frame)
			now := d.now()
			if !ok || asked.waiting(flow, now) {
				continue
			}
			d.mu.Lock()
			asking, event, err := d.session.Acquire(frame)
			d.mu.Unlock()
			switch {
			case err != nil:
				return err
			case asking == box.AskedPunt:
				if err := deliver(frame); err != nil {
					return err
				}
			case asking == box.AskedSA && asked.add(flow, now):
				d.tell(event)
			}
		}
	}
}
