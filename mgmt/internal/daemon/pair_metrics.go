// SPDX-License-Identifier: Apache-2.0

package daemon

import "github.com/prometheus/client_golang/prometheus"

// pairMetrics tell of the pair; of a box that is alone there are none.
type pairMetrics struct {
	active, maintained, problems, heard, silent, expires *prometheus.Desc
}

func newPairMetrics() pairMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("sallyport_pair_"+name, help, []string{"side"}, nil)
	}
	return pairMetrics{
		active:     desc("active", "1 if this box of the pair is active."),
		maintained: desc("maintained", "1 if this box is out of service."),
		problems:   desc("problems", "Problems of this box for which the other should rather be active."),
		heard:      desc("other_answers", "1 if the other box has answered within dead_after."),
		silent:     desc("other_silent_seconds", "Time since the other box's last answer."),
		expires:    desc("certificate_expiry_timestamp_seconds", "When this box's certificate ends."),
	}
}

func (m pairMetrics) descs() []*prometheus.Desc {
	return []*prometheus.Desc{m.active, m.maintained, m.problems, m.heard, m.silent, m.expires}
}

// collect needs no lock of the chips.
func (m pairMetrics) collect(d *Daemon, out chan<- prometheus.Metric) {
	p := d.pair
	if p == nil {
		return
	}
	view, state := p.facts.View(d.now()), d.pairState()
	bit := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	for desc, value := range map[*prometheus.Desc]float64{
		m.active: bit(state.Active), m.maintained: bit(state.Maintained), m.problems: float64(len(state.Problems)), m.heard: bit(state.Other != nil),
		m.silent: view.Silent.Seconds(), m.expires: float64(state.Expires),
	} {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, state.Side)
	}
}
