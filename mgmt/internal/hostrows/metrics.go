// SPDX-License-Identifier: Apache-2.0

package hostrows

import (
	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Metrics tell how networks share what there is a bounded number of.
type Metrics struct {
	hosts, gone, unasked *prometheus.Desc
}

// NewMetrics makes them.
func NewMetrics() Metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("sallyport_"+name, help, append([]string{"port"}, labels...), nil)
	}
	return Metrics{
		hosts:   desc("linux_hosts", "Hosts of Linux on a port: installed in its chip, or refused for want of room.", "state"),
		gone:    desc("linux_hosts_gone_total", "Hosts of Linux on a port that have given way to hosts of other networks, since the daemon started."),
		unasked: desc("flows_refused_total", "Packets without an SA, or too long, that the daemon reported to no process, because too many flows of their network are such, since it started."),
	}
}

// Descs are their descriptions.
func (m Metrics) Descs() []*prometheus.Desc {
	return []*prometheus.Desc{m.hosts, m.gone, m.unasked}
}

// Collect tells of the networks of a configuration.
func (m Metrics) Collect(t *Tallies, of *model.Model, out chan<- prometheus.Metric) {
	now, gone, unasked := t.Counted()
	networks := of.Insides()
	for network := range networks {
		for _, dev := range model.Devices {
			if network != 0 && dev == xfrm.Black {
				continue // it is of no VRF
			}
			at := Place{dev, network}
			name := at.Name(networks)
			out <- prometheus.MustNewConstMetric(m.hosts, prometheus.GaugeValue, float64(now.Installed[at]), name, "installed")
			out <- prometheus.MustNewConstMetric(m.hosts, prometheus.GaugeValue, float64(now.Refused[at]), name, "refused")
			out <- prometheus.MustNewConstMetric(m.gone, prometheus.CounterValue, float64(gone[at]), name)
			if dev == xfrm.Red { // whose chip punts packets
				out <- prometheus.MustNewConstMetric(m.unasked, prometheus.CounterValue, float64(unasked[network]), name)
			}
		}
	}
}
