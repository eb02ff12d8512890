// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/upsets"
)

// What follows is for those who look on in this process: the page of package web.

// Sample is the state of the chips and every counter of theirs, read one after the other.
type Sample struct {
	At    time.Time
	Chips [3]ChipSample
}

// ChipSample has the counters in the order of chip.CounterList.
type ChipSample struct {
	chip.Health
	Counters []uint64
}

// Sample reads the chips.
func (d *Daemon) Sample() (Sample, error) {
	out := Sample{At: d.now()}
	for _, c := range transport.Chips {
		health, err := d.session.Box.Health(c)
		if err != nil {
			return Sample{}, err
		}
		counters, err := d.session.Box.Counters(c)
		if err != nil {
			return Sample{}, err
		}
		out.Chips[c] = ChipSample{health, counters}
	}
	return out, nil
}

// Holding is what the box is and holds.
type Holding struct {
	Version      string // of the daemon
	Configured   bool
	Identity     [3]chip.Identity
	Capabilities [3]chip.Capabilities
	session.Installed
	// LastUse has, by age, the time of last use of SAs and policies, in seconds since the epoch; 0
	// of one that was never used. It is as exact as others ask often.
	LastUse map[uint64]int64
}

// Holding reads what the box holds, and what at most `most` SAs and as many policies have carried.
func (d *Daemon) Holding(most int) (Holding, error) {
	v, err := d.view()
	if err != nil {
		return Holding{}, err
	}
	installed, err := v.Installed(most)
	if err != nil {
		return Holding{}, err
	}
	b := d.session.Box
	out := Holding{d.version, d.adopted.Load(), b.Identity, b.Capabilities, installed, map[uint64]int64{}}
	now := d.now().Unix()
	for _, sa := range installed.FirstSAs {
		out.LastUse[sa.Age] = d.uses.seen(sa.Carried, now)
	}
	for _, p := range installed.FirstPolicies {
		if p.Counted {
			out.LastUse[p.Age] = d.uses.seen(p.Carried, now)
		}
	}
	return out, nil
}

// SAs reads what at most `most` SAs have carried, the oldest, and says how many more there are.
func (d *Daemon) SAs(most int) (first []session.InstalledSA, more int, err error) {
	v, err := d.view()
	if err != nil {
		return nil, 0, err
	}
	first, err = v.FirstSAs(most)
	return first, v.Model().SAs.Len() - len(first), err
}

// Watch gives a channel of all events from now on. It is closed when its reader is too far behind,
// or when the daemon ends.
func (d *Daemon) Watch() <-chan events.Event { return d.events.Subscribe() }

// Monitor is Watch for one that may leave before the daemon ends.
func (d *Daemon) Monitor() (each <-chan events.Event, leave func()) {
	c := d.events.Subscribe()
	return c, func() { d.events.Leave(c) }
}

// shown is what the last poll or change found, for those who do not wait for the next.
type shown struct {
	links    events.Links
	statuses events.Statuses
	tested   chip.SelfTest
	left     map[string]uint64
	tables   []upsets.State
	signals  map[string]bool
	monitors map[string]*card.Monitor
	noisy    bool // the noise source is used
}

// show lets others see it. The caller has the daemon's lock.
func (d *Daemon) show() {
	d.shown.Store(&shown{d.links, d.statuses, d.tested, d.session.Left(), d.upsets.States(), d.health.signals, d.health.monitors, d.noise.pool != nil})
}

// view is the configuration that the chips hold. It waits for the daemon's lock only while the
// chips do not hold what they did: a restoration that runs is finished first, so no client is told
// of SAs that are not there.
func (d *Daemon) view() (*session.View, error) {
	if v, err := d.session.View(); v != nil || err != nil {
		return v, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session.Look()
}

// owned is the box as the packages know it to which the daemon leaves a part of its work.
type owned struct{ d *Daemon }

// View is view.
func (o owned) View() (*session.View, error) { return o.d.view() }

// SendBy is that of the session.
func (o owned) SendBy(v *session.View, send func() error) (sent bool, err error) {
	return o.d.session.SendBy(v, send)
}
