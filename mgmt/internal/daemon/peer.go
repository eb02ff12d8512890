package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// Pair is how a box finds the other one that has the same SAs, and what it knows of it (docs/decisions/0008).
type Pair struct {
	Side  peer.Side
	Other string // its address and port
	// Secret is what the boxes know each other by.
	Secret []byte
	// Interval is how often it is asked, Dead how long it may be silent before its place is taken.
	Interval, Dead time.Duration
	// Rate is the most packets/s that an SA carries, each way.
	Rate uint64
	// Send injects a frame into a port, to tell hosts of new addresses.
	Send func(port uint8, frame []byte) error

	active   bool
	heard    time.Time                   // of the last answer, or when this daemon began to ask
	asked    time.Time                   // when the last answer was asked for; zero: there was none
	other    bool                        // the other box was active then
	numbers  map[session.Directed]uint64 // the highest that it has told
	announce int                         // how often hosts are still to be told
}

// announcements are sent at take-over and with the next questions, for a frame may be lost.
const announcements = 3

// farthest is how far a receiver can follow a jump with 32 bits on the wire, half of them to be sure (RFC 4303, A2).
const farthest = 1 << 31

// JoinPair makes the box one of a pair, before it is configured. One whose ports are open is active; any other sends and receives nothing until Follow says so.
func (d *Daemon) JoinPair(p *Pair) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	open, err := d.session.Open()
	if err != nil {
		return err
	}
	p.active, p.heard = open, d.now()
	d.session.Closed, d.session.IVMask = !open, p.Side.IVMask()
	d.pair = p
	d.log.Info("one of a pair", "side", string(p.Side), "active", open, "other", p.Other)
	return nil
}

// Report is what this box tells the other.
func (d *Daemon) Report() (peer.Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := peer.Report{Side: d.pair.Side, Active: d.pair.active, Numbers: []peer.Number{}}
	numbers, err := d.session.Numbers()
	for _, n := range numbers {
		out.Numbers = append(out.Numbers, peer.Number{ID: n.ID, Dir: n.Way, Number: n.Value})
	}
	return out, err
}

// ServePair answers the other box until ctx ends.
func (d *Daemon) ServePair(ctx context.Context, listener net.Listener) error {
	return peer.Serve(ctx, listener, d.pair.Interval, d.pair.Secret, d.Report)
}

// FollowPair asks the other box until ctx ends, and takes its place when it is gone.
func (d *Daemon) FollowPair(ctx context.Context) error {
	ticks := time.NewTicker(d.pair.Interval)
	defer ticks.Stop()
	for {
		asked := d.now()
		timeout, cancel := context.WithTimeout(ctx, d.pair.Interval)
		report, err := peer.Ask(timeout, d.pair.Other, d.pair.Secret)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			err = d.silent(err)
		} else {
			err = d.answered(report, asked)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// silent takes the place of a box that has not answered for long.
func (d *Daemon) silent(why error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pair.active || d.now().Sub(d.pair.heard) < d.pair.Dead {
		return d.tellHosts()
	}
	d.log.Error("the other box of the pair is silent", "error", why.Error())
	return d.takeOver()
}

// answered keeps what the other box says. Of two passive boxes a begins; of two active ones, that could not hear each other, b stands by.
func (d *Daemon) answered(report peer.Report, asked time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pair
	if report.Side == p.Side {
		return fmt.Errorf("both boxes of the pair are side %q: they would use the same IVs", p.Side)
	}
	if err := d.learn(report); err != nil {
		return err
	}
	ended := p.other && !report.Active
	p.heard, p.asked, p.other = d.now(), asked, report.Active
	switch {
	case p.active && report.Active && p.Side == peer.SideB:
		d.log.Error("both boxes of the pair are active: this one stands by")
		p.active = false
		return d.session.SetClosed(true)
	case p.active && ended:
		p.announce = announcements
		return d.advance(0) // it has sent meanwhile, and does so no more
	case !p.active && !report.Active && p.Side == peer.SideA:
		return d.takeOver()
	}
	return d.tellHosts()
}

// learn keeps the numbers of a report, and those told before of SAs that this box has: a box that was reset knows them no longer.
func (d *Daemon) learn(report peer.Report) error {
	numbers := map[session.Directed]uint64{}
	for _, n := range report.Numbers {
		numbers[session.Directed{ID: n.ID, Way: n.Dir}] = n.Number
	}
	own, err := d.session.SAs()
	for _, sa := range own {
		if before := d.pair.numbers[sa]; before > numbers[sa] {
			numbers[sa] = before
		}
	}
	d.pair.numbers = numbers
	return err
}

// takeOver opens the ports, with numbers that the other box cannot have used, and tells hosts where its addresses are.
func (d *Daemon) takeOver() error {
	p, now := d.pair, d.now()
	// Also of one that was passive then: it may have become active since.
	gap := uint64(now.Sub(p.asked).Seconds()*float64(p.Rate)) + 1
	if p.asked.IsZero() || gap > farthest {
		if err := d.forgetSAs(); err != nil {
			return err
		}
	} else if err := d.advance(gap); err != nil {
		return err
	}
	if err := d.session.SetClosed(false); err != nil {
		return err
	}
	p.active, p.announce = true, announcements
	d.log.Warn("this box of the pair is active now", "numbers_left_out", gap)
	return d.tellHosts()
}

// advance has all SAs go on from the numbers that the other box has told and so many more. One of which it has told nothing came after it was asked.
func (d *Daemon) advance(gap uint64) error {
	numbers, err := d.session.Numbers()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if err := d.session.Advance(n.ID, min(d.pair.numbers[n.Directed]+gap, n.Most)); err != nil {
			return err
		}
	}
	return nil
}

// forgetSAs deletes SAs of which it is not known what numbers were used: IKE will make new ones.
func (d *Daemon) forgetSAs() error {
	numbers, err := d.session.Numbers()
	if err != nil || len(numbers) == 0 {
		return err
	}
	d.log.Error("it is not known how far the SAs were used: they are deleted", "sas", len(numbers))
	_, err = d.run([]xfrm.Command{xfrm.StateFlush{}}, false)
	return err
}

// tellHosts announces the addresses of an active box's ports, a few times.
func (d *Daemon) tellHosts() error {
	p := d.pair
	if !p.active || p.announce == 0 || p.Send == nil {
		return nil
	}
	p.announce--
	addresses, err := d.session.PortAddresses()
	for _, a := range addresses {
		if err := p.Send(a.Port, punt.Announcement(a.MAC, a.IP)); err != nil {
			d.log.Error("hosts were not told of an address", "address", a.IP.String(), "error", err.Error())
		}
	}
	return err
}
