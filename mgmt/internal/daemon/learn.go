// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"maps"

	"sallyport/mgmt/internal/model"
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
	learned, tally := n.hosts(v.Model(), before, wanted)
	d.tallies.see(tally, n.insides)
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
	d.tallies.gaveWay(tally.gone)
	d.log.Info("next hops changed", "learned", len(learned), "wanted", len(wanted))
	if v, err = d.session.Look(); err != nil {
		return nil, nil, err
	}
	n.see(v.Model())
	return v.Model(), wanted, nil
}
