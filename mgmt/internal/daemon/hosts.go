// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"maps"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

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
