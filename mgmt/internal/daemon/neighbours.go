// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"maps"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// A host that the chips send to, and that Linux does not know, is looked for after firstProbe, and
// then after twice the time before, up to lastProbe.
const (
	firstProbe = time.Second
	lastProbe  = 30 * time.Second
)

// Changes that Linux tells within gathered are one change of the chips. A host that packets went to
// is looked for until no packet has come for askedFor. Every refresh the daemon has Linux see
// whether a host is still there, and of all hosts that is mostProbes each second.
const (
	gathered   = 20 * time.Millisecond
	askedFor   = 60 * time.Second
	refresh    = 60 * time.Second
	mostWaited = 1024
	mostProbes = 64
)

var portOf = map[string]uint8{xfrm.Red: transport.PortRed, xfrm.Black: transport.PortBlack}

// neighbours bring the chips' next hops and hosts to what Linux knows of them.
type neighbours struct {
	daemon *Daemon
	known  map[model.NextHop]xfrm.MAC  // by Linux
	failed map[model.NextHop]bool      // looked for by Linux in vain, and on the chips
	asked  map[model.NextHop]time.Time // until when those are looked for
	seen   map[model.NextHop]time.Time // when Linux last looked for a host on the chips
	probes map[model.NextHop]probe     // of those that it does not know
	left   int                         // probes of this second
	full   bool                        // there was no room for a host
}

type probe struct {
	next time.Time
	wait time.Duration
}

// followNeighbours keeps the chips' next hops as Linux knows their hosts, until ctx ends or the
// chips fail.
func (d *Daemon) followNeighbours(ctx context.Context) error {
	n := &neighbours{daemon: d, failed: map[model.NextHop]bool{}, asked: map[model.NextHop]time.Time{}, seen: map[model.NextHop]time.Time{}, left: mostProbes}
	for ctx.Err() == nil {
		found, err := d.host.devices.Neighbours(ctx)
		if err != nil {
			return err
		}
		// Linux now tells all that it knows, so earlier answers are of no use.
		n.known = map[model.NextHop]xfrm.MAC{}
		if err := n.follow(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

// follow takes changes until there are no more, and sees every firstProbe whether hosts have to be
// looked for.
func (n *neighbours) follow(ctx context.Context, found <-chan punt.Neighbour) error {
	ticks := time.NewTicker(firstProbe)
	defer ticks.Stop()
	var due <-chan time.Time
	for {
		select {
		case change, ok := <-found:
			if !ok {
				return nil
			}
			if n.take(change) && due == nil {
				due = time.After(gathered)
			}
			continue
		case host := <-n.daemon.host.unresolved:
			hop := model.NextHop{Dev: xfrm.Red, IP: host}
			if _, has := n.asked[hop]; has || len(n.asked) < mostWaited {
				n.asked[hop] = n.daemon.now().Add(askedFor)
			}
			if due == nil {
				due = time.After(gathered)
			}
			continue
		case <-ticks.C:
			n.left = mostProbes
		case <-due:
		case <-ctx.Done():
			return nil
		}
		due = nil
		if err := n.daemon.outlive(n.settle()); err != nil {
			return err
		}
	}
}

// take notes a change, and says whether it is an address that was not known, or a host that does
// not answer.
func (n *neighbours) take(change punt.Neighbour) bool {
	hop := model.NextHop{Dev: xfrm.Red, IP: change.IP}
	if change.Port == transport.PortBlack {
		hop.Dev = xfrm.Black
	}
	if change.MAC == nil {
		delete(n.known, hop)
		if change.Failed {
			n.failed[hop] = true
		}
		return change.Failed
	}
	mac := xfrm.MAC(change.MAC)
	before := n.known[hop]
	n.known[hop] = mac
	delete(n.failed, hop)
	n.seen[hop] = n.daemon.now()
	return mac != before
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
	look := func(hop model.NextHop) {
		if _, known := n.known[hop]; known {
			return
		}
		p, again := n.probes[hop]
		if !again {
			p = probe{now, firstProbe}
		}
		if !now.Before(p.next) && n.left > 0 {
			n.left--
			n.daemon.host.devices.Probe(portOf[hop.Dev], hop.IP)
			p = probe{now.Add(p.wait), min(2*p.wait, lastProbe)}
		}
		probes[hop] = p
	}
	for _, hop := range wanted {
		look(hop)
	}
	for hop, until := range n.asked {
		_, known := n.known[hop]
		if known || now.After(until) || !m.Resolves(hop) {
			delete(n.asked, hop)
			continue
		}
		look(hop)
	}
	for hop := range m.Learned {
		switch _, known := n.known[hop]; {
		case !m.Resolves(hop):
		case !known:
			look(hop) // of before this daemon, or Linux has forgotten it
		case n.left > 0 && now.Sub(n.seen[hop]) > refresh:
			n.left--
			n.seen[hop] = now
			n.daemon.host.devices.Probe(portOf[hop.Dev], hop.IP)
		}
	}
	n.probes = probes
	maps.DeleteFunc(n.seen, func(hop model.NextHop, _ time.Time) bool { _, has := n.known[hop]; return !has })
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
	wanted, before := v.NextHops()
	learned := n.hosts(v.Model(), before)
	for _, hop := range wanted {
		if mac, known := n.known[hop]; known {
			learned[hop] = mac
		} else if mac, had := before[hop]; had {
			learned[hop] = mac
		}
	}
	if maps.Equal(learned, before) {
		clear(n.failed)
		return v.Model(), wanted, nil
	}
	if err := d.prepare(); err != nil {
		return nil, nil, err
	}
	if err := d.session.Learn(learned); err != nil {
		return nil, nil, err
	}
	clear(n.failed)
	d.log.Info("next hops changed", "learned", len(learned), "wanted", len(wanted))
	if v, err = d.session.Look(); err != nil {
		return nil, nil, err
	}
	return v.Model(), wanted, nil
}

// hosts are those that have rows of their own: the ones there were, unless they do not answer, and
// further ones as long as there is room.
func (n *neighbours) hosts(m *model.Model, before map[model.NextHop]xfrm.MAC) map[model.NextHop]xfrm.MAC {
	learned := map[model.NextHop]xfrm.MAC{}
	for hop, mac := range before {
		if !m.HasRow(hop) || n.failed[hop] {
			continue
		}
		if now, known := n.known[hop]; known {
			mac = now
		}
		learned[hop] = mac
	}
	room := n.daemon.session.HostRoom()
	full := false
	for hop, mac := range n.known {
		if _, has := learned[hop]; has || !m.Resolves(hop) {
			continue
		}
		if full = len(learned) >= room; full {
			break
		}
		learned[hop] = mac
	}
	if full && !n.full {
		n.daemon.log.Warn("no room for a further host on red: packets to it are dropped", "hosts", len(learned))
	}
	n.full = full
	return learned
}
