// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"maps"
	"time"

	"sallyport/mgmt/internal/hostrows"
	"sallyport/mgmt/internal/model"
)

// A host that the chips send to, and that Linux does not know, is looked for after firstProbe, and
// then after twice the time before, up to lastProbe. Every refresh the daemon has Linux see whether
// a host is still there.
const (
	firstProbe = time.Second
	lastProbe  = 30 * time.Second
	refresh    = 60 * time.Second
)

// Each second Linux is asked for at most so many hosts of a kind. None takes the share of another,
// and Linux's table, of 1,024 unless it is set otherwise, has room for those that do not answer.
const (
	mostWanted    = 64 // that rows lead to
	mostSought    = 32 // that packets went to
	mostRefreshed = 64 // that have rows of their own
)

// budget is how many hosts of each kind Linux may still be asked for.
type budget struct{ wanted, asked, refreshed int }

var perSecond = budget{mostWanted, mostSought, mostRefreshed}

type probe struct {
	next time.Time
	wait time.Duration
}

// settle teaches the box what Linux knows of the hosts that it sends to, and makes Linux look for
// the others. A gateway keeps its address until there is another one: its traffic goes on while it
// is silent, or Linux has forgotten it, which sends it nothing. A host goes once it does not answer
// Linux.
func (n *neighbours) settle() error {
	m, wanted, err := n.learn()
	if err != nil {
		return err
	}
	now, probes := n.daemon.now(), map[model.NextHop]probe{}
	look := func(hop model.NextHop, left *int) (looked bool) {
		_, reached := n.heardAt(hop)
		_, known := n.mac(hop)
		if _, twice := probes[hop]; known || twice || !reached {
			return false
		}
		p, again := n.probes[hop]
		if !again {
			p = probe{now, firstProbe}
		}
		if looked = !now.Before(p.next) && *left > 0; looked {
			*left--
			n.probe(hop)
			p = probe{now.Add(p.wait), min(2*p.wait, lastProbe)}
		}
		probes[hop] = p
		return looked
	}
	first := n.turn
	for i := range wanted {
		if at := (first + i) % len(wanted); look(wanted[at], &n.left.wanted) {
			n.turn = at + 1
		}
	}
	for hop, until := range n.asked.All() {
		_, known := n.mac(hop)
		if known || now.After(until) || !n.resolves(hop) {
			n.asked.Delete(hop)
			continue
		}
		look(hop, &n.left.asked)
	}
	due := hostrows.PlacesOf[bool](len(m.Learned)) // and whether Linux knows them
	for hop := range m.Learned {
		_, known := n.mac(hop) // not if it is of before this daemon, or Linux has forgotten it
		if (!known || now.Sub(n.seen[hop]) > refresh) && n.resolves(hop) {
			due.Put(hop, known)
		}
	}
	for hop, known := range due.All() {
		switch {
		case !known:
			look(hop, &n.left.refreshed)
		case n.left.refreshed > 0:
			n.left.refreshed--
			n.seen[hop] = now
			n.probe(hop)
		}
	}
	n.probes = probes
	maps.DeleteFunc(n.seen, func(hop model.NextHop, _ time.Time) bool { _, has := n.mac(hop); return !has })
	return nil
}

// learn gives the configuration, and the hosts that rows of the box lead to.
func (n *neighbours) learn() (*model.Model, []model.NextHop, error) {
	d := n.daemon
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.session.Look()
	if err != nil {
		return nil, nil, err
	}
	n.see(v.Model())
	wanted, before := v.NextHops()
	learned, tally := n.hosts(v.Model(), before, wanted)
	d.tallies.See(tally, n.insides)
	if n.rows = before; maps.Equal(learned, before) {
		clear(n.failed)
		return v.Model(), wanted, nil
	}
	now := d.now()
	if since := now.Sub(n.last); since >= 0 && since < firstProbe {
		return v.Model(), wanted, nil // the next tick is in time
	}
	n.last = now
	if err := d.prepare(); err != nil {
		return nil, nil, err
	}
	if err := d.session.Learn(learned); err != nil {
		return nil, nil, err
	}
	clear(n.failed)
	n.rows = learned
	d.tallies.GaveWay(tally.Gone)
	d.log.Info("next hops changed", "learned", len(learned), "wanted", len(wanted))
	if v, err = d.session.Look(); err != nil {
		return nil, nil, err
	}
	n.see(v.Model())
	return v.Model(), wanted, nil
}
