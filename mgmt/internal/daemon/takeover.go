// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"time"

	"sallyport/mgmt/internal/pair"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// announcements are sent at take-over and with the next steps, for a frame may be lost.
const announcements = 3

// farthest is how far a receiver can follow a jump with 32 bits on the wire, half of them to be
// sure (RFC 4303, A2).
const farthest = 1 << 31

// fencing is how long a fence may take.
const fencing = 30 * time.Second

// stepPair takes the step that the known facts of the pair call for. It waits for the network
// without the chips' lock, and looks at the facts again behind that.
func (d *Daemon) stepPair(ctx context.Context) error {
	p := d.pair
	step := p.facts.View(d.now()).Decide()
	if !d.mayStep(ctx, step) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	view := p.facts.View(d.now())
	if view.Decide() != step {
		return nil
	}
	switch step {
	case pair.TakePlace, pair.TakeSilent:
		return d.takeOver()
	case pair.StandBy:
		d.log.Error("both boxes of the pair are active: this one stands by")
		return d.closePorts(false)
	case pair.GiveWay:
		d.log.Warn("this box gives its place in the pair to the other", "problems", view.Own.Problems, "maintained", view.Own.Maintained, "asked", view.Asked)
		return d.closePorts(true)
	}
	return d.tellHosts()
}

// mayStep makes sure that the other box forwards nothing: one that answers says so, one that is
// silent is fenced. Without certificates that are valid now no box would be heard, so none counts
// as silent.
func (d *Daemon) mayStep(ctx context.Context, step pair.Step) bool {
	p := d.pair
	switch step {
	case pair.TakePlace:
		if !p.facts.Claiming(d.now()) {
			return false
		}
		timeout, cancel := context.WithTimeout(ctx, p.Interval)
		defer cancel()
		err := p.claim(timeout)
		if err != nil {
			d.log.Info("the other box of the pair does not leave its place yet", "error", err.Error())
		}
		return p.facts.Claimed(err == nil)
	case pair.TakeSilent:
		if err := p.Identity().InTime(); err != nil {
			p.blind.Do(func() {
				d.log.Error("this box could not know the other box of the pair: its place is not taken", "error", err.Error())
			})
			return false
		}
		d.log.Error("the other box of the pair is silent", "error", p.facts.Failure())
		if p.Fence == nil {
			return true
		}
		timeout, cancel := context.WithTimeout(ctx, fencing)
		defer cancel()
		if err := p.Fence(timeout); err != nil {
			d.log.Error("the other box of the pair could not be fenced: its place is not taken", "error", err.Error())
			return false
		}
		d.log.Warn("the other box of the pair was fenced")
	}
	return true
}

// heardNumbers keeps the numbers of the other box, and those told before of SAs that this box has:
// a box that was reset knows them no longer.
func (d *Daemon) heardNumbers(told []peer.Number, since time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pair
	numbers := map[session.Directed]uint64{}
	for _, n := range told {
		numbers[session.Directed{ID: n.ID, Way: n.Dir}] = n.Number
	}
	v, err := d.session.Look()
	if err != nil {
		return err
	}
	for _, sa := range v.SAs() {
		if before := p.numbers[sa]; before > numbers[sa] {
			numbers[sa] = before
		}
	}
	p.numbers = numbers
	if since.After(p.since) {
		p.since = since
	}
	// it has sent meanwhile, and does so no more
	if ended := p.ended.Load(); ended != nil && since.After(*ended) {
		p.ended.Store(nil)
		p.announce = announcements
		numbers, err := d.numbers()
		if err != nil {
			return err
		}
		return d.advance(numbers, 0)
	}
	return nil
}

// takeOver opens the ports, with numbers that the other box cannot have used, and tells hosts where
// its addresses are.
func (d *Daemon) takeOver() error {
	p, now := d.pair, d.now()
	// Also of one that was passive then: it may have become active since.
	gap := uint64(now.Sub(p.since).Seconds()*float64(p.Rate)) + 1
	numbers, err := d.numbers()
	if err != nil {
		return err
	}
	if p.since.IsZero() || gap > farthest/longestStep(numbers) {
		err = d.forgetSAs(len(numbers))
	} else {
		err = d.advance(numbers, gap)
	}
	if err != nil {
		return err
	}
	if err := d.session.OpenPorts(); err != nil {
		return err
	}
	p.facts.Became(true, false, d.now())
	p.announce = announcements
	d.log.Warn("this box of the pair is active now", "numbers_left_out", gap)
	return d.tellHosts()
}

// closePorts has the box stand by, and reads how far its SAs are at last.
func (d *Daemon) closePorts(gave bool) error {
	if err := d.session.ClosePorts(); err != nil {
		return err
	}
	d.pair.facts.Became(false, gave, d.now())
	return d.readOwnNumbersLocked()
}

// LeavePair closes the ports of an active box before its daemon ends, and waits until the other has
// taken over, if it can. ServePair and FollowPair must run meanwhile.
func (d *Daemon) LeavePair() error {
	p := d.pair
	p.facts.Leave()
	if !p.facts.Status(d.now()).Active {
		return nil
	}
	d.mu.Lock()
	err := d.closePorts(true)
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("the ports could not be closed, and the box forwards on: %w", err)
	}
	d.log.Warn("this box of the pair stops: its ports are closed")
	for end := d.now().Add(p.Dead + 2*p.Interval); d.now().Before(end); time.Sleep(p.Interval / 4) {
		view := p.facts.View(d.now())
		if view.Other.Active || !view.Answered || view.Silent >= p.Dead {
			break
		}
	}
	return nil
}

// longestStep is the longest of all SAs: 1, unless nodes share one.
func longestStep(numbers []session.Number) uint64 {
	step := uint64(1)
	for _, n := range numbers {
		step = max(step, n.Step)
	}
	return step
}

// advance has all SAs go on from the numbers that the other box has told and so many packets more.
// An SA without such a number came after that box was asked.
func (d *Daemon) advance(numbers []session.Number, gap uint64) error {
	positions := make([]session.Position, len(numbers))
	for i, n := range numbers {
		positions[i] = session.Position{ID: n.ID, Number: min(min(d.pair.numbers[n.Directed], n.Most)+gap*n.Step, n.Most)}
	}
	return d.session.Advance(positions...)
}

// forgetSAs deletes all SAs, so many, since neither box knows how far their numbers were used: IKE
// will make new ones. Where it cannot, the place is not taken: their numbers could come twice.
func (d *Daemon) forgetSAs(count int) error {
	if count == 0 {
		return nil
	}
	if _, err := d.run([]xfrm.Command{xfrm.StateFlush{}}, session.Lists{}); err != nil {
		return fmt.Errorf("the place in the pair is not taken: it is not known how far the SAs were used, and they cannot be deleted: %w", err)
	}
	d.log.Error("it is not known how far the SAs were used: they are deleted", "sas", count)
	return nil
}

// tellHosts announces the addresses of an active box's ports, a few times.
func (d *Daemon) tellHosts() error {
	p := d.pair
	if p.announce == 0 || p.Send == nil || !p.facts.Status(d.now()).Active {
		return nil
	}
	p.announce--
	v, err := d.session.Look()
	if err != nil {
		return err
	}
	for _, a := range v.PortAddresses() {
		if err := p.Send(a.Port, punt.Announcement(a.MAC, a.IP)); err != nil {
			d.log.Error("hosts were not told of an address", "address", a.IP.String(), "error", err.Error())
		}
	}
	return nil
}
