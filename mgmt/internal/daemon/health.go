// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"slices"
	"time"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/transport"
)

// healthPeriod is how often the cards' MACs are looked at.
const healthPeriod = time.Second

// portNames are the ports at the interface chips.
var portNames = map[transport.Chip]string{transport.Inner: "red", transport.Outer: "black"}

// health is what a box of a pair was found to lack.
type health struct {
	looked time.Time
	dark   []string // ports without a signal
	noCard bool     // a simulation of cores alone has no MACs
	lost   bool     // the chips lost the SAs, and no client has installed any since
}

// pollHealth finds the problems of the box, so that the other of its pair can take the place if it
// does better.
func (d *Daemon) pollHealth() error {
	if d.pair == nil {
		return nil
	}
	h, now := &d.health, d.now()
	if !h.noCard && now.Sub(h.looked) >= healthPeriod {
		h.looked = now
		if err := d.lookAtPorts(); err != nil {
			return err
		}
	}
	problems := slices.Clone(h.dark)
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		if !d.links[c.String()] {
			problems = append(problems, "the link between the crypto chip and the "+c.String()+" one is down")
		}
	}
	if h.lost || d.owed != nil {
		problems = append(problems, "the chips have lost their SAs")
	}
	if d.noise.pool != nil && d.noise.told != nil && !*d.noise.told {
		problems = append(problems, "the noise source has failed, so no keys are agreed")
	}
	d.pair.facts.SetProblems(problems, now)
	return nil
}

// lookAtPorts notes the ports whose MACs have no signal.
func (d *Daemon) lookAtPorts() error {
	h := &d.health
	h.dark = nil
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		lit, err := card.Signal(d.session.Box.Transport(), c)
		switch {
		case errors.Is(err, card.ErrNoShell):
			h.noCard = true
			return nil
		case err != nil:
			return err
		case !lit:
			h.dark = append(h.dark, "the "+portNames[c]+" port has no signal")
		}
	}
	return nil
}
