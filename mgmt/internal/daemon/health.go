// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/transport"
)

// healthPeriod is how often the cards' MACs are looked at, and monitorPeriod how often their system
// monitors are, which take more accesses and change slowly.
const (
	healthPeriod  = time.Second
	monitorPeriod = 10 * time.Second
)

// portNames are the ports at the interface chips.
var portNames = map[transport.Chip]string{transport.Inner: "red", transport.Outer: "black"}

// health is how a box was found to be.
type health struct {
	looked, measured time.Time
	signals          map[string]bool          // of each port; nil without cards; never changed
	monitors         map[string]*card.Monitor // of each chip's card that answered; never changed
	noCard           bool                     // a simulation of cores alone has none
	// the chips lost the SAs, and no client has installed any since
	lost bool
}

// pollHealth looks at the cards. It finds the problems of a box of a pair, so that the other can
// take the place if it does better.
func (d *Daemon) pollHealth() error {
	if err := d.lookAtCards(); err != nil {
		return err
	}
	if d.pair == nil {
		return nil
	}
	h, now := &d.health, d.now()
	var problems []string
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		if lit, known := h.signals[portNames[c]]; known && !lit {
			problems = append(problems, "the "+portNames[c]+" port has no signal")
		}
	}
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

// lookAtCards notes which ports have a signal, and what the cards' system monitors measure.
func (d *Daemon) lookAtCards() error {
	h, now := &d.health, d.now()
	if h.noCard || now.Sub(h.looked) < healthPeriod {
		return nil
	}
	h.looked = now
	signals := map[string]bool{}
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		lit, err := card.Signal(d.session.Box.Transport(), c)
		if errors.Is(err, card.ErrNoShell) {
			h.noCard = true
			return nil
		}
		if err != nil {
			return err
		}
		signals[portNames[c]] = lit
	}
	h.signals = signals
	if now.Sub(h.measured) < monitorPeriod {
		return nil
	}
	h.measured = now
	monitors := map[string]*card.Monitor{}
	for _, c := range transport.Chips {
		m, err := card.ReadMonitor(d.session.Box.Transport(), c)
		if err != nil {
			return err
		}
		if m != nil {
			monitors[c.String()] = m
		}
	}
	h.monitors = monitors
	return nil
}

// healthMetrics tell of the cards and of the noise source; there are none of what a box lacks.
type healthMetrics struct {
	signal, temperature, vccint, vccaux, noise *prometheus.Desc
}

func newHealthMetrics() healthMetrics {
	desc := prometheus.NewDesc
	return healthMetrics{
		signal:      desc("sallyport_port_signal", "1 if the MAC of a port has the far end's signal.", []string{"port"}, nil),
		temperature: desc("sallyport_card_temperature_celsius", "Temperature of a card's FPGA, by its system monitor.", []string{"chip"}, nil),
		vccint:      desc("sallyport_card_vccint_volts", "Supply of the FPGA's logic.", []string{"chip"}, nil),
		vccaux:      desc("sallyport_card_vccaux_volts", "Auxiliary supply of the FPGA.", []string{"chip"}, nil),
		noise:       desc("sallyport_noise_good", "1 while the noise source passes its health tests.", nil, nil),
	}
}

func (m healthMetrics) descs() []*prometheus.Desc {
	return []*prometheus.Desc{m.signal, m.temperature, m.vccint, m.vccaux, m.noise}
}

// collect needs no lock of the chips.
func (m healthMetrics) collect(d *Daemon, shown *shown, out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for port, lit := range shown.signals {
		gauge(m.signal, number(lit), port)
	}
	for chip, monitor := range shown.monitors {
		gauge(m.temperature, monitor.Temperature, chip)
		gauge(m.vccint, monitor.VCCINT, chip)
		gauge(m.vccaux, monitor.VCCAUX, chip)
	}
	if shown.noisy {
		gauge(m.noise, number(d.noise.good.Load()))
	}
}

// Pool is the kernel's. The kernel mixes in bytes that are written there but credits no entropy, so
// writing needs no right.
const Pool = "/dev/random"

// noise is the use of the noise source: where its words go, and how it was when it was last
// looked at.
type noise struct {
	pool io.Writer // nil: it is not used
	good atomic.Bool
	told *bool // the last state told; nil: none yet
}

// UseNoise writes the bits of the noise source to a pool with each poll. While the source's health
// tests have not passed, it refuses SPIs, so that IKE agrees on no keys.
func (d *Daemon) UseNoise(pool io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noise.pool = pool
}

// pollNoise tells once that the source fails, and once that it is good again. A failed source whose
// tests begin anew is neither.
func (d *Daemon) pollNoise() error {
	if d.noise.pool == nil {
		return nil
	}
	n, err := events.TakeNoise(d.session.Box)
	if err != nil {
		return err
	}
	if (n.Failed || n.Good) && (d.noise.told == nil || *d.noise.told != n.Good) {
		d.noise.told = &n.Good
		d.tell(events.Event{Kind: events.EventNoise, OK: &n.Good})
	}
	d.noise.good.Store(n.Good)
	if len(n.Words) == 0 {
		return nil
	}
	_, err = d.noise.pool.Write(n.Words)
	clear(n.Words)
	if err != nil {
		return fmt.Errorf("cannot feed the kernel's entropy pool: %w", err)
	}
	return nil
}

// mayAgreeKeys refuses while the noise source is to be used and is not good (NIST SP 800-90B, 4.3).
func (d *Daemon) mayAgreeKeys() error {
	if d.noise.pool != nil && !d.noise.good.Load() {
		return inputf("the noise source has not passed its health tests, so no keys are agreed: look at the event noise, and at the noise chip")
	}
	return nil
}

// pollSelfTest tells of lanes that have left service or returned to it.
func (d *Daemon) pollSelfTest() error {
	now, err := d.session.Box.SelfTest()
	if err != nil {
		return err
	}
	for _, e := range events.SelfTestEvents(d.tested, now) {
		d.tell(e)
	}
	for _, path := range now.Closed() {
		if len(d.tested.Closed()) != len(now.Closed()) {
			d.log.Error("no lane of the crypto chip is left on a path: nothing crosses it", "path", path)
		}
	}
	d.tested = now
	return nil
}

// selfTest tells how the last run ended, or starts one.
func (d *Daemon) selfTest(who caller.Caller, r *control.SelfTestRequest) (any, error) {
	if r.Run {
		if err := who.MayChange(); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Run {
		if err := d.session.Box.RunSelfTest(); err != nil {
			return nil, err
		}
	}
	return d.session.Box.SelfTest()
}
