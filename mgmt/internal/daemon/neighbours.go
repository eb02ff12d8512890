// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"maps"
	"net/netip"
	"strconv"
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

// Changes that Linux tells within gathered are one change of the chips, and of these there is one
// in firstProbe: stations that change their addresses all the time cannot keep the daemon busy. A
// host that packets went to is looked for until Linux has done so in vain, or no packet has come
// for askedFor. Every refresh the daemon has Linux see whether a host is still there.
const (
	gathered   = 20 * time.Millisecond
	askedFor   = 60 * time.Second
	refresh    = 60 * time.Second
	mostWaited = 1024
	// relist is how long Linux is not asked anew for all hosts that it knows.
	relist = 200 * time.Millisecond
)

// Each second Linux is asked for at most so many hosts of a kind. None takes the share of another,
// and Linux's table, of 1,024 unless it is set otherwise, has room for those that do not answer.
const (
	mostWanted    = 64 // that rows lead to
	mostSought    = 32 // that packets went to
	mostRefreshed = 64 // that have rows of their own
)

var portOf = map[string]uint8{xfrm.Red: transport.PortRed, xfrm.Black: transport.PortBlack}

// neighbours bring the chips' next hops and hosts to what Linux knows of them.
type neighbours struct {
	daemon *Daemon
	known  map[heard]xfrm.MAC          // by Linux
	rows   map[model.NextHop]xfrm.MAC  // on the chips
	failed map[model.NextHop]bool      // of those, the ones that Linux has looked for in vain
	asked  map[model.NextHop]time.Time // until when those are looked for
	seen   map[model.NextHop]time.Time // when Linux last looked for a host on the chips
	probes map[model.NextHop]probe     // of those that it does not know
	left   budget                      // of this second
	turn   int                         // the wanted host that is looked for first
	last   time.Time                   // of the last change of the chips
	full   map[string]bool             // by device: there was no room for a host

	model   *model.Model         // as the chips last had it
	insides map[int]*model.Model // of its networks
}

// heard is a host as Linux knows it: at a port, or in a VLAN of red.
type heard struct {
	dev  string
	vlan uint16 // 0: none
	tag  uint16 // EtherType of its tag; 0: none
	ip   netip.Addr
}

// see takes the configuration.
func (n *neighbours) see(m *model.Model) {
	if m != n.model {
		n.model, n.insides = m, m.Insides()
	}
}

// hopOf is a host that Linux knows in its network; false if its VLAN is in no VRF of the box.
func (n *neighbours) hopOf(at heard) (model.NextHop, bool) {
	if at.vlan == 0 {
		return model.NextHop{Dev: at.dev, IP: at.ip}, true
	}
	if n.model == nil {
		return model.NextHop{}, false
	}
	hop := model.NextHop{Dev: at.dev, IP: at.ip, Network: n.model.NetworkOf(n.model.VRFOf(at.vlan))}
	if hop.IP.IsLinkLocalUnicast() {
		hop.IP = hop.IP.WithZone(strconv.Itoa(int(at.vlan)))
	}
	return hop, hop.Network != 0
}

// heardAt is where Linux has a host of a network; false if it has no device there.
func (n *neighbours) heardAt(hop model.NextHop) (heard, bool) {
	if hop.Network == 0 {
		return heard{dev: hop.Dev, ip: hop.IP}, true
	}
	own := n.insides[hop.Network]
	if own == nil {
		return heard{}, false
	}
	id, tag := own.VLANID(own.HopVLAN(hop.Dev, hop.IP))
	return heard{hop.Dev, id, tag, hop.IP.WithZone("")}, id != 0 && n.daemon.host.devices.Fits(id)
}

// mac is the address of a host of a network as Linux knows it.
func (n *neighbours) mac(hop model.NextHop) (mac xfrm.MAC, known bool) {
	if at, reached := n.heardAt(hop); reached {
		mac, known = n.known[at]
	}
	return mac, known
}

// resolves says whether the box looks for a host of a network.
func (n *neighbours) resolves(hop model.NextHop) bool {
	own := n.insides[hop.Network]
	return own != nil && own.Resolves(hop)
}

// probe has Linux look for a host of a network.
func (n *neighbours) probe(hop model.NextHop) {
	at, reached := n.heardAt(hop)
	switch {
	case !reached:
	case at.vlan != 0:
		n.daemon.host.devices.ProbeVLAN(at.vlan, at.ip)
	default:
		n.daemon.host.devices.Probe(portOf[hop.Dev], hop.IP)
	}
}

// budget is how many hosts of each kind Linux may still be asked for.
type budget struct{ wanted, asked, refreshed int }

var perSecond = budget{mostWanted, mostSought, mostRefreshed}

type probe struct {
	next time.Time
	wait time.Duration
}

// followNeighbours keeps the chips' next hops as Linux knows their hosts, until ctx ends or the
// chips fail.
func (d *Daemon) followNeighbours(ctx context.Context) error {
	n := &neighbours{daemon: d, failed: map[model.NextHop]bool{}, asked: map[model.NextHop]time.Time{}, seen: map[model.NextHop]time.Time{}, left: perSecond, full: map[string]bool{}}
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
		case host := <-n.daemon.host.unresolved:
			n.ask(host)
			soon()
			// It is known since the chip has looked for it.
			if mac, known := n.mac(host); known && host.Dev == xfrm.Red {
				if err := n.daemon.forward(n.daemon.host.waiting.Take(n.waited(host)), mac); err != nil {
					return err
				}
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

// ask notes a host that a packet went to. Of too many, any other one makes room, of the network
// that has most: a scan takes no place for good, nor any of another customer.
func (n *neighbours) ask(hop model.NextHop) {
	if _, has := n.asked[hop]; !has && len(n.asked) >= mostWaited {
		most := crowded(maps.Keys(n.asked), hop.Network)
		for other := range n.asked {
			if other.Network == most {
				delete(n.asked, other)
				break
			}
		}
	}
	n.asked[hop] = n.daemon.now().Add(askedFor)
}

// take notes a change, and says whether the chips may have to follow: it is an address that was not
// known, or a host with a row that does not answer.
func (n *neighbours) take(change punt.Neighbour) bool {
	at := heard{xfrm.Red, change.VLAN, change.Protocol, change.IP}
	if change.Port == transport.PortBlack {
		at.dev = xfrm.Black
	}
	hop, ours := n.hopOf(at)
	if change.MAC == nil {
		delete(n.known, at)
		if place, reached := n.heardAt(hop); !change.Failed || !ours || !reached || place != at {
			return false
		}
		delete(n.asked, hop)
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
	for _, hop := range inTurn(maps.Keys(n.asked)) {
		_, known := n.mac(hop)
		if known || now.After(n.asked[hop]) || !n.resolves(hop) {
			delete(n.asked, hop)
			continue
		}
		look(hop, &n.left.asked)
	}
	for hop := range m.Learned {
		switch _, known := n.mac(hop); {
		case !n.resolves(hop):
		case !known:
			look(hop, &n.left.refreshed) // of before this daemon, or Linux has forgotten it
		case n.left.refreshed > 0 && now.Sub(n.seen[hop]) > refresh:
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
	learned := n.hosts(v.Model(), before)
	for _, hop := range wanted {
		if mac, known := n.mac(hop); known {
			learned[hop] = mac
		} else if mac, had := before[hop]; had {
			learned[hop] = mac
		}
	}
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
	d.log.Info("next hops changed", "learned", len(learned), "wanted", len(wanted))
	if v, err = d.session.Look(); err != nil {
		return nil, nil, err
	}
	n.see(v.Model())
	return v.Model(), wanted, nil
}

// hosts are those that have rows of their own: the ones there were, unless they do not answer, and
// further ones as long as there is room.
func (n *neighbours) hosts(m *model.Model, before map[model.NextHop]xfrm.MAC) map[model.NextHop]xfrm.MAC {
	learned, room, full := map[model.NextHop]xfrm.MAC{}, map[string]int{}, map[string]bool{}
	for _, dev := range model.Devices {
		room[dev] = n.daemon.session.HostRoom(m, dev)
	}
	for hop, mac := range before {
		if !n.resolves(hop) || n.failed[hop] {
			continue
		}
		if now, known := n.mac(hop); known {
			mac = now
		}
		learned[hop] = mac
		room[hop.Dev]--
	}
	for at, mac := range n.known {
		hop, ours := n.hopOf(at)
		if place, reached := n.heardAt(hop); !ours || !reached || place != at || !n.resolves(hop) {
			continue
		}
		if _, has := learned[hop]; has {
			continue
		}
		if room[hop.Dev] <= 0 {
			full[hop.Dev] = true
			continue
		}
		learned[hop] = mac
		room[hop.Dev]--
	}
	for dev := range full {
		if !n.full[dev] {
			n.daemon.log.Warn("no room for a further host on "+dev+": packets to it are dropped", "hosts", len(learned))
		}
	}
	n.full = full
	return learned
}
