// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"context"
	"time"

	"sallyport/mgmt/internal/fair"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/xfrm"
)

// Of packets of one flow the first in AskAgain counts. Of no more than mostAsked flows the daemon
// knows that they did, and of too many those of the network that has most count no more. So with 63
// networks some 1,200 flows count in that time. While MostAsking frames wait, others are dropped.
const (
	AskAgain   = time.Second
	mostAsked  = 256
	MostAsking = 256
)

// Punted is a frame that the inner chip punted, and the number of the network of its packet.
type Punted struct {
	Bytes   []byte
	Network int
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
	return asked && now.Sub(at) < AskAgain
}

// add notes a flow, or says that there are too many of its network.
func (q questions) add(about question, now time.Time) bool {
	if q.Len() >= mostAsked {
		for other, at := range q.All() {
			if now.Sub(at) >= AskAgain {
				q.Delete(other)
			}
		}
	}
	return q.Offer(about, now)
}

// eachFlow hands punted frames to `handle` until ctx ends or it fails, but for those of a flow that
// it noted just now; `note` does that, and is false if too many of the network are noted.
func (t *Teller) eachFlow(ctx context.Context, frames <-chan Punted, handle func(frame Punted, flow xfrm.Selector, note func() bool) error) error {
	noted := newQuestions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case frame := <-frames:
			flow, ok := punt.Flow(frame.Bytes)
			now, about := t.now(), question{flow, frame.Network}
			if !ok || noted.waiting(about, now) {
				continue
			}
			note := func() bool {
				fits := noted.add(about, now)
				if !fits {
					t.tallies.Refuse(frame.Network)
				}
				return fits
			}
			if err := handle(frame, flow, note); err != nil {
				return err
			}
		}
	}
}
