// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/card"
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
