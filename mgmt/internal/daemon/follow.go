// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
)

// Changes that Linux tells within gathered are one change of the chips, and of these there is one
// in firstProbe: stations that change their addresses all the time cannot keep the daemon busy. A
// host that packets went to is looked for until Linux has done so in vain, or no packet has come
// for askedFor.
const (
	gathered   = 20 * time.Millisecond
	askedFor   = 60 * time.Second
	mostWaited = 1024
	// relist is how long Linux is not asked anew for all hosts that it knows.
	relist = 200 * time.Millisecond
)

// followNeighbours keeps the chips' next hops as Linux knows their hosts, until ctx ends or the
// chips fail.
func (d *Daemon) followNeighbours(ctx context.Context) error {
	n := newNeighbours(d, d.host.devices)
	for ctx.Err() == nil {
		found, err := d.host.devices.Neighbours(ctx)
		if err != nil {
			return err
		}
		// Linux now tells all that it knows, so earlier answers are of no use.
		n.known = map[heard]xfrm.MAC{}
		if err := n.follow(ctx, found); err != nil {
			return err
		}
		select { // many VLANs may come one by one
		case <-time.After(relist):
		case <-ctx.Done():
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
	// What the network sends takes at most a fifth of the time.
	var rested time.Time
	soon := func() {
		if due == nil {
			due = time.After(max(gathered, time.Until(rested)))
		}
	}
	for {
		select {
		case change, ok := <-found:
			if !ok {
				return nil
			}
			if n.take(change) {
				soon()
			}
			if err := n.serveWaiting(change); err != nil {
				return err
			}
			continue
		case host := <-n.daemon.host.unresolved[xfrm.Red]:
			soon()
			if err := n.lookFor(host); err != nil {
				return err
			}
			continue
		case host := <-n.daemon.host.unresolved[xfrm.Black]:
			soon()
			if err := n.lookFor(host); err != nil {
				return err
			}
			continue
		case message := <-n.daemon.host.told:
			if err := n.deliver(message); err != nil {
				return err
			}
			continue
		case <-ticks.C:
			n.left = perSecond
			if err := n.serveLate(n.daemon.host.waiting.Late(n.daemon.now())); err != nil {
				return err
			}
		case <-due:
		case <-ctx.Done():
			return nil
		}
		due = nil
		begun := time.Now()
		if err := n.daemon.outlive(n.settle()); err != nil {
			return err
		}
		rested = time.Now().Add(4 * time.Since(begun))
	}
}

// lookFor notes a host that packets went to, and sends them if it is known since the chip has
// looked for it.
func (n *neighbours) lookFor(host model.NextHop) error {
	n.ask(host)
	if mac, known := n.mac(host); known {
		return n.daemon.forward(n.daemon.host.waiting.Take(n.waited(host)), mac)
	}
	return nil
}

// ask notes a host that packets went to. Of too many the one that was noted longest ago makes room,
// of the network of a port that has most: a scan takes no place for good, nor any of another
// customer.
func (n *neighbours) ask(hop model.NextHop) {
	n.asked.Put(hop, n.daemon.now().Add(askedFor))
}

// heardOf is the host of a change.
func heardOf(change punt.Neighbour) heard {
	dev := xfrm.Red
	if change.Port == transport.PortBlack {
		dev = xfrm.Black
	}
	return heard{dev, change.VLAN, change.Protocol, change.IP}
}

// take notes a change, and says whether the chips may have to follow: it is an address that was not
// known, or a host with a row that does not answer.
func (n *neighbours) take(change punt.Neighbour) bool {
	at := heardOf(change)
	hop, ours := n.hopOf(at)
	if change.MAC == nil {
		delete(n.known, at)
		if place, reached := n.heardAt(hop); !change.Failed || !ours || !reached || place != at {
			return false
		}
		n.asked.Delete(hop)
		_, has := n.rows[hop]
		if has {
			n.failed[hop] = true
		}
		return has
	}
	mac := xfrm.MAC(change.MAC)
	before := n.known[at]
	n.known[at] = mac
	if ours {
		delete(n.failed, hop)
		n.seen[hop] = n.daemon.now()
	}
	return mac != before
}

// serveWaiting sends the packets that wait for a host, or tells their senders that Linux has looked
// for it in vain.
func (n *neighbours) serveWaiting(change punt.Neighbour) error {
	at := heardOf(change)
	hop, ours := n.hopOf(at)
	if !ours {
		return nil
	}
	if place, reached := n.heardAt(hop); !reached || place != at {
		return nil // another VLAN of the VRF has a station of that address
	}
	switch host := n.waited(hop); {
	case change.MAC != nil:
		return n.daemon.forward(n.daemon.host.waiting.Take(host), xfrm.MAC(change.MAC))
	case change.Failed:
		return n.daemon.giveUp(n.daemon.host.waiting.Take(host))
	}
	return nil
}

// waited is a host of a network as packets wait for it.
func (n *neighbours) waited(hop model.NextHop) waiting.Host {
	host := waiting.Host{Dev: hop.Dev, IP: hop.IP}
	if own := n.insides[hop.Network]; own != nil {
		host.VRF = own.VRFName()
	}
	return host
}

// serveLate sees to packets that have waited long: their hosts may be known since.
func (n *neighbours) serveLate(packets []waiting.Packet) (err error) {
	for _, p := range packets {
		late := []waiting.Packet{p}
		network := 0
		if n.model != nil {
			network = n.model.NetworkOf(p.To.VRF)
		}
		mac, known := n.mac(model.NextHop{Dev: p.To.Dev, IP: p.To.IP, Network: network})
		if known && (network != 0 || p.To.VRF == "") {
			err = n.daemon.forward(late, mac)
		} else {
			err = n.daemon.giveUp(late)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
