// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// tallyMetrics tell how networks share what there is a bounded number of.
type tallyMetrics struct {
	hosts, gone, unasked *prometheus.Desc
}

func newTallyMetrics() tallyMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("sallyport_"+name, help, append([]string{"port"}, labels...), nil)
	}
	return tallyMetrics{
		hosts:   desc("linux_hosts", "Hosts of Linux on a port: installed in its chip, or refused for want of room.", "state"),
		gone:    desc("linux_hosts_gone_total", "Hosts of Linux on a port that have given way to hosts of other networks, since the daemon started."),
		unasked: desc("flows_refused_total", "Packets without an SA or too long of which the daemon told nobody, because too many flows of their network are such, since it started."),
	}
}

func (m tallyMetrics) descs() []*prometheus.Desc {
	return []*prometheus.Desc{m.hosts, m.gone, m.unasked}
}

// collect tells of the networks of a configuration.
func (m tallyMetrics) collect(d *Daemon, of *model.Model, out chan<- prometheus.Metric) {
	now, gone, unasked := d.tallies.counted()
	networks := of.Insides()
	for network := range networks {
		for _, dev := range model.Devices {
			if network != 0 && dev == xfrm.Black {
				continue // it is of no VRF
			}
			at := place{dev, network}
			name := at.name(networks)
			out <- prometheus.MustNewConstMetric(m.hosts, prometheus.GaugeValue, float64(now.installed[at]), name, "installed")
			out <- prometheus.MustNewConstMetric(m.hosts, prometheus.GaugeValue, float64(now.refused[at]), name, "refused")
			out <- prometheus.MustNewConstMetric(m.gone, prometheus.CounterValue, float64(gone[at]), name)
			if dev == xfrm.Red { // whose chip punts packets
				out <- prometheus.MustNewConstMetric(m.unasked, prometheus.CounterValue, float64(unasked[network]), name)
			}
		}
	}
}
