// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/xfrm"
)

// Of packets of one flow the first in askAgain counts, and no more than mostAsked flows do in that
// time. Frames of which mostAsking wait already are dropped.
const (
	askAgain   = time.Second
	mostAsked  = 256
	mostAsking = 256
)

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
func (d *Daemon) eachFlow(ctx context.Context, frames <-chan []byte, handle func(frame []byte, flow xfrm.Selector, note func() bool) error) error {
	noted := questions{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			flow, ok := punt.Flow(frame)
			now := d.now()
			if !ok || noted.waiting(flow, now) {
				continue
			}
			if err := handle(frame, flow, func() bool { return noted.add(flow, now) }); err != nil {
				return err
			}
		}
	}
}
