// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"sallyport/mgmt/internal/pair"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/session"
)

// Pair says how a box finds the other one that has the same SAs, and holds its knowledge of that
// one (docs/decisions/0008).
type Pair struct {
	Side  peer.Side
	Other netip.AddrPort
	// Identity is the current identity by which the boxes know each other.
	Identity func() *peer.Identity
	// Client asks the other box.
	Client *peer.Client
	// Interval is how often it is asked, Dead how long it may be silent before its place is taken.
	Interval, Dead time.Duration
	// Rate is the most packets/s that an SA carries, each way.
	Rate uint64
	// Fence makes sure that a silent box forwards nothing before its place is taken; nil if there
	// is no way to.
	Fence func(context.Context) error
	// Send injects a frame into a port, to tell hosts of new addresses.
	Send func(port uint8, frame []byte) error

	claim  func(context.Context) error // asks the other box to leave the place
	facts  *pair.Facts
	own    atomic.Pointer[ownNumbers] // what the other box is told
	seldom rate.Sometimes
	blind  rate.Sometimes
	wake   chan struct{} // something has changed that may be acted upon
	// when the other box, active as this one, was heard to be passive; nil: it was not, or its last
	// numbers have come
	ended atomic.Pointer[time.Time]

	// With the daemon's lock:
	// the other box's numbers were not read before; zero: it told none
	since    time.Time
	numbers  map[session.Directed]uint64 // the highest that it has told
	announce int                         // how often hosts are still to be told
}

// ownNumbers are how far the SAs of this box were, and when their reading began.
type ownNumbers struct {
	numbers []peer.Number
	at      time.Time
}

// JoinPair makes the box one of a pair, before it is configured. A box with open ports is active.
// Any other sends and receives nothing until Follow activates it.
func (d *Daemon) JoinPair(p *Pair) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	open, err := d.session.Open()
	if err != nil {
		return err
	}
	if p.Client != nil {
		p.claim = p.Client.Claim
	}
	p.facts, p.wake = pair.NewFacts(p.Side, open, p.Dead, d.now()), make(chan struct{}, 1)
	p.own.Store(&ownNumbers{at: d.now()})
	p.seldom, p.blind = rate.Sometimes{First: 1, Interval: time.Minute}, rate.Sometimes{First: 1, Interval: time.Minute}
	d.session.Closed, d.session.IVMask = !open, p.Side.IVMask()
	d.pair = p
	d.log.Info("one of a pair", "side", string(p.Side), "active", open, "other", p.Other.String(), "fenced", p.Fence != nil)
	return nil
}

// ServePair answers the other box until ctx ends, from stored reports: no answer waits for the
// chips.
func (d *Daemon) ServePair(ctx context.Context, listener net.Listener) error {
	p := d.pair
	server := &peer.Server{
		Other: p.Other.Addr(), Identity: p.Identity, Timeout: max(p.Interval, time.Second), Log: d.log,
		Status:  func() peer.Status { return p.facts.Status(d.now()) },
		Numbers: d.toldNumbers,
		Yield: func() error {
			d.log.Info("the other box of the pair asks for the place")
			return d.giveWaySoon()
		},
		Claim: func() error { return p.facts.Claim(d.now()) },
	}
	return server.Serve(ctx, listener)
}

func (d *Daemon) toldNumbers() peer.Numbers {
	own := d.pair.own.Load()
	return peer.Numbers{Age: d.now().Sub(own.at), Numbers: own.numbers}
}

// giveWaySoon has FollowPair give the place away, if the other box can take it.
func (d *Daemon) giveWaySoon() error {
	if err := d.pair.facts.Switch(d.now()); err != nil {
		return err
	}
	d.pair.wakeUp()
	return nil
}

func (p *Pair) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// FollowPair asks the other box until ctx ends, and does what its answers, or its silence, call
// for. It ends before if the chips fail.
func (d *Daemon) FollowPair(ctx context.Context) error {
	p := d.pair
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return every(ctx, p.Interval, nil, func() error { d.askStatus(ctx); return nil }) })
	group.Go(func() error { return every(ctx, p.Interval, nil, func() error { return d.askNumbers(ctx) }) })
	group.Go(func() error { return every(ctx, p.Interval, nil, d.readOwnNumbers) })
	group.Go(func() error {
		return every(ctx, p.Interval, p.wake, func() error { return d.outlive(d.stepPair(ctx)) })
	})
	return group.Wait()
}

// every does something at once, each period behind its end, and when it is woken, until ctx ends or
// it fails.
func every(ctx context.Context, period time.Duration, wake <-chan struct{}, do func() error) error {
	for {
		if err := do(); err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-time.After(period):
		}
	}
}

// askStatus asks whether the other box lives. The chips have no part in that.
func (d *Daemon) askStatus(ctx context.Context) {
	p := d.pair
	timeout, cancel := context.WithTimeout(ctx, p.Interval)
	defer cancel()
	status, err := p.Client.Status(timeout)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		d.unheard(err)
	default:
		d.heard(status)
	}
}

func (d *Daemon) unheard(why error) {
	p := d.pair
	if before := p.facts.Failure(); before != why.Error() {
		d.log.Warn("the other box of the pair was asked in vain", "error", why.Error())
	}
	p.facts.Unheard(why)
}

// heard keeps what the other box says of itself.
func (d *Daemon) heard(status peer.Status) {
	p, now := d.pair, d.now()
	if p.facts.Failure() != "" {
		d.log.Info("the other box of the pair answers again")
	}
	ended := p.facts.Heard(status, now)
	if p.facts.View(now).SameSide() {
		p.seldom.Do(func() {
			d.log.Error("both boxes of the pair are of one side, and would use the same IVs: change [peer] side of one", "side", string(p.Side))
		})
	}
	if ended {
		p.ended.Store(&now)
	}
	p.wakeUp()
}

// askNumbers asks how far the other box's SAs are.
func (d *Daemon) askNumbers(ctx context.Context) error {
	numbers, since, err := d.pair.Client.Numbers(ctx)
	if err != nil {
		return nil // askStatus tells why
	}
	return d.heardNumbers(numbers, since)
}

// readOwnNumbers reads the numbers that this box tells the other. While the chips are busy it tells
// the last numbers, and their age.
func (d *Daemon) readOwnNumbers() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.readOwnNumbersLocked()
}

// numbers are those of the SAs that are installed. The caller has the daemon's lock.
func (d *Daemon) numbers() ([]session.Number, error) {
	v, err := d.session.Look()
	if err != nil {
		return nil, err
	}
	return v.Numbers()
}

func (d *Daemon) readOwnNumbersLocked() error {
	own := &ownNumbers{at: d.now(), numbers: []peer.Number{}}
	numbers, err := d.numbers()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		own.numbers = append(own.numbers, peer.Number{ID: n.ID, Dir: n.Way, Number: n.Value})
	}
	d.pair.own.Store(own)
	return nil
}
