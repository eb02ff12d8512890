// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// idle is how many times as long as batches took the box rests behind them. The rest of those
	// that took no longer than atOnce in all may come behind later ones.
	idle   = 4
	atOnce = time.Second
	// ahead is how much time a follower may have before others that waited when it did not.
	ahead = time.Second
)

// Pace bounds how busy a box is with all followers together: a fifth of the time, and a second. One
// prefix that comes and goes may close a set and open it each time, and then everything is planned
// anew. The neighbours of a customer decide when. So one follower has its turn at a time, and the
// box rests behind them; changes now and then do not wait for that.
//
// The turns are those of start-time fair queuing (Goyal, Vin and Cheng, SIGCOMM 1996), with time in
// the place of bytes. Followers that always wait have the same time each. One that seldom waits has
// the next turn: it waits for the one that runs and the rest behind it, whatever the others do.
// What a follower has had while no other waited does not count.
type Pace struct {
	mu      sync.Mutex
	waiting []*turns      // in the order in which they came
	busy    bool          // a turn runs, or the rest behind it
	now     time.Duration // the latest start of a turn
	rested  time.Time     // the box has rested from all turns
}

// NewPace is that of a box.
func NewPace() *Pace { return &Pace{} }

// turns are those of a follower, in the time that turns take: one starts where the last one ended,
// but not long before those that others have now.
type turns struct {
	start, end time.Duration
	next       chan struct{}
}

func newTurns() turns { return turns{next: make(chan struct{}, 1)} }

// do waits for a turn and does work then, unless ctx ends before. The work says how long the box
// was busy with it.
func (p *Pace) do(ctx context.Context, t *turns, work func() (took time.Duration, err error)) error {
	p.ask(t)
	select {
	case <-t.next:
	case <-ctx.Done():
		p.leave(t)
		return nil
	}
	took, err := work()
	p.end(t, took)
	return err
}

func (p *Pace) ask(t *turns) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.start = max(p.now-ahead, t.end)
	p.waiting = append(p.waiting, t)
	p.give()
}

// leave takes one out that waits no longer, though its turn may just have come.
func (p *Pace) leave(t *turns) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.waiting, t); at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
		return
	}
	<-t.next
	p.busy = false
	p.give()
}

// end has the box rest behind a turn.
func (p *Pace) end(t *turns, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.end = t.start + took
	if begun := time.Now().Add(-took); p.rested.Before(begun) {
		p.rested = begun
	}
	p.rested = p.rested.Add((1 + idle) * took)
	time.AfterFunc(time.Until(p.rested)-idle*atOnce, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.busy = false
		p.give()
	})
}

// give gives the next turn, if the box is free and one waits for it.
func (p *Pace) give() {
	if p.busy || len(p.waiting) == 0 {
		return
	}
	t := slices.MinFunc(p.waiting, func(a, b *turns) int { return cmp.Compare(a.start, b.start) })
	at := slices.Index(p.waiting, t)
	p.waiting = slices.Delete(p.waiting, at, at+1)
	p.busy, p.now = true, max(p.now, t.start)
	t.next <- struct{}{}
}
