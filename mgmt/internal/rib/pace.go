// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// idle is how many times as long as a batch took none follows.
	idle = 4
	// fades is how long it takes until time that a follower has had counts half.
	fades = 10 * time.Minute
)

// Pace bounds how busy a box is with all followers together: a fifth of the time. One prefix that
// comes and goes may close a set and open it each time, and then everything is planned anew. The
// neighbours of a customer decide when. So one follower has its turn at a time, and then the box
// rests.
//
// Of those that wait the one comes next that has had the least time of late. One that seldom has
// changes thus waits for the turn that runs and the rest behind it, whatever the others do. One
// with many has as much time as each of the others.
type Pace struct {
	mu      sync.Mutex
	waiting []*turns // in the order in which they came
	busy    bool     // a turn runs, or the rest behind it
}

// NewPace is that of a box.
func NewPace() *Pace { return &Pace{} }

// turns are those of a follower.
type turns struct {
	had  float64 // seconds of late, as of the end of the last one
	end  time.Time
	next chan struct{}
}

func newTurns() turns { return turns{next: make(chan struct{}, 1)} }

// late is how many seconds a follower has had of late.
func (t *turns) late(now time.Time) float64 {
	return t.had * math.Exp2(-now.Sub(t.end).Seconds()/fades.Seconds())
}

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
	now := time.Now()
	t.had, t.end = t.late(now)+took.Seconds(), now
	time.AfterFunc(idle*took, func() {
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
	at, now := 0, time.Now()
	for i, t := range p.waiting {
		if t.late(now) < p.waiting[at].late(now) {
			at = i
		}
	}
	t := p.waiting[at]
	p.waiting = slices.Delete(p.waiting, at, at+1)
	p.busy = true
	t.next <- struct{}{}
}
