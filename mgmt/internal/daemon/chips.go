// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/transport"
)

func (d *Daemon) counters(*control.Plain) (any, error) {
	out := control.Counters{Chips: map[string]map[string]uint64{}}
	for _, c := range transport.Chips {
		values, err := d.session.Box.Counters(c)
		if err != nil {
			return nil, err
		}
		byName := map[string]uint64{}
		for i, counter := range chip.CounterList[c] {
			byName[counter.Name] = values[i]
		}
		out.Chips[c.String()] = byName
	}
	return out, nil
}

func (d *Daemon) capabilities(*control.Plain) (any, error) {
	b := d.session.Box
	out := control.Capabilities{Daemon: d.version, Suites: b.Capabilities[transport.Crypto].SuiteNames, Chips: map[string]control.Chip{}}
	for _, c := range transport.Chips {
		identity, err := b.Now(c)
		if err != nil {
			return nil, err
		}
		out.Chips[c.String()] = control.Chip{Identity: identity, Capabilities: b.Capabilities[c]}
	}
	return out, nil
}

func (d *Daemon) cards(*control.Plain) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	states, err := card.ReadAll(d.session.Box.Transport())
	if errors.Is(err, card.ErrNoShell) {
		err = inputf("%s", err)
	}
	return control.Cards{Cards: states}, err
}
