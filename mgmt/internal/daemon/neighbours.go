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

var portOf = map[string]uint8{xfrm.Red: transport.PortRed, xfrm.Black: transport.PortBlack}

// neighbours bring the chips' next hops to what Linux knows of their hosts.
type neighbours struct {
	daemon *Daemon
	known  map[model.NextHop]xfrm.MAC // by Linux
	probes map[model.NextHop]probe    // of those that it does not know
}

type probe struct {
	next time.Time
	wait time.Duration
}

// followNeighbours keeps the chips' next hops as Linux knows their hosts, until ctx ends or the
// chips fail.
func (d *Daemon) followNeighbours(ctx context.Context) error {
	n := &neighbours{daemon: d, probes: map[model.NextHop]probe{}}
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
	for {
		select {
		case change, ok := <-found:
			if !ok {
				return nil
			}
			if !n.take(change) {
				continue
			}
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
		if err := n.daemon.outlive(n.settle()); err != nil {
			return err
		}
	}
}

// take notes a change, and says whether it is an address that was not known.
func (n *neighbours) take(change punt.Neighbour) bool {
	hop := model.NextHop{Dev: xfrm.Red, IP: change.IP}
	if change.Port == transport.PortBlack {
		hop.Dev = xfrm.Black
	}
	if change.MAC == nil {
		delete(n.known, hop)
		return false
	}
	mac := xfrm.MAC(change.MAC)
	before := n.known[hop]
	n.known[hop] = mac
	return mac != before
}

// settle teaches the box what Linux knows of the hosts that it sends to, and makes Linux look for
// the others. What the box has learned it keeps until there is another address: its traffic goes on
// while a host is silent, or Linux has forgotten it, which sends it nothing.
func (n *neighbours) settle() error {
	wanted, err := n.learn()
	if err != nil {
		return err
	}
	now, probes := n.daemon.now(), map[model.NextHop]probe{}
	for _, hop := range wanted {
		if _, known := n.known[hop]; known {
			continue
		}
		p, again := n.probes[hop]
		if !again {
			p = probe{now, firstProbe}
		}
		if !now.Before(p.next) {
			n.daemon.host.devices.Probe(portOf[hop.Dev], hop.IP)
			p = probe{now.Add(p.wait), min(2*p.wait, lastProbe)}
		}
		probes[hop] = p
	}
	n.probes = probes
	return nil
}

// learn gives the hosts that the box sends to.
func (n *neighbours) learn() ([]model.NextHop, error) {
	d := n.daemon
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.session.Look()
	if err != nil {
		return nil, err
	}
	wanted, before := v.NextHops()
	learned := map[model.NextHop]xfrm.MAC{}
	for _, hop := range wanted {
		if mac, known := n.known[hop]; known {
			learned[hop] = mac
		} else if mac, had := before[hop]; had {
			learned[hop] = mac
		}
	}
	if maps.Equal(learned, before) {
		return wanted, nil
	}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if err := d.session.Learn(learned); err != nil {
		return nil, err
	}
	d.log.Info("next hops changed", "learned", len(learned), "wanted", len(wanted))
	return wanted, nil
}
