// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/hostrows"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Metrics reads the chips when Prometheus asks: every counter of every chip under its name, the
// number of SAs and policies, and the events so far.
type Metrics struct {
	daemon   *Daemon
	counters [3][]*prometheus.Desc
	sas      *prometheus.Desc
	policies *prometheus.Desc
	byPrefix *prometheus.Desc
	events   *prometheus.Desc
	left     *prometheus.Desc
	routes   *prometheus.Desc
	over     *prometheus.Desc
	adopted  *prometheus.Desc
	build    *prometheus.Desc
	pair     pairMetrics
	health   healthMetrics
	tally    hostrows.Metrics
	ready    *prometheus.Desc
	tamper   *prometheus.Desc
	linkUp   *prometheus.Desc
	upset    *prometheus.Desc
	wrong    *prometheus.Desc
	written  *prometheus.Desc
	lane     *prometheus.Desc
	runs     *prometheus.Desc
	took     *prometheus.Desc
}

// NewMetrics describes what there is to count.
func NewMetrics(d *Daemon) *Metrics {
	m := &Metrics{
		daemon:   d,
		sas:      prometheus.NewDesc("sallyport_sas", "SAs that are installed.", []string{"dir"}, nil),
		policies: prometheus.NewDesc("sallyport_policies", "Policies that are installed.", []string{"dir"}, nil),
		byPrefix: prometheus.NewDesc("sallyport_policies_by_prefix", "Out policies that the inner chip finds by prefix.", nil, nil),
		events:   prometheus.NewDesc("sallyport_events_total", "Events taken from the chips since the daemon started.", []string{"event"}, nil),
		left:     prometheus.NewDesc("sallyport_event_queue_left_total", "Polls and changes after which a chip's queue still had events, since the daemon started.", []string{"queue"}, nil),
		routes:   prometheus.NewDesc("sallyport_linux_routes", "Routes of Linux on a port: installed in its chip, refused for want of room, or too_long for it.", []string{"port", "state"}, nil),
		over:     prometheus.NewDesc("sallyport_linux_routes_over_total", "Routes of Linux on a port beyond those that the daemon keeps, since it started.", []string{"port"}, nil),
		ready:    prometheus.NewDesc("sallyport_ready", "1 if a chip has cleared its tables since its reset.", []string{"chip"}, nil),
		tamper:   prometheus.NewDesc("sallyport_tamper", "1 if a chip's tamper input was active since its reset.", []string{"chip"}, nil),
		linkUp:   prometheus.NewDesc("sallyport_link_up", "1 if the link between the crypto chip and another one is up.", []string{"link"}, nil),
		adopted:  prometheus.NewDesc("sallyport_configured", "1 if the chips hold the daemon's configuration.", nil, nil),
		build:    prometheus.NewDesc("sallyport_build_info", "1, with the version of the daemon.", []string{"version"}, nil),
		pair:     newPairMetrics(),
		health:   newHealthMetrics(),
		tally:    hostrows.NewMetrics(),
		upset:    prometheus.NewDesc("sallyport_table_upset", "1 while the rows of a table are written anew, because a look-up met a flipped bit.", []string{"chip", "table"}, nil),
		wrong:    prometheus.NewDesc("sallyport_table_rows_wrong_total", "Rows of a table that were found to be otherwise than the configuration, since the daemon started.", []string{"chip", "table"}, nil),
		written:  prometheus.NewDesc("sallyport_table_rows_rewritten_total", "Rows of a table that were written anew, since the daemon started.", []string{"chip", "table"}, nil),
	}
	m.lane = prometheus.NewDesc("sallyport_lane_in_service", "0 if a lane of the crypto chip has failed the self-test.", []string{"path", "lane"}, nil)
	m.runs = prometheus.NewDesc("sallyport_selftest_runs_total", "Self-tests of the crypto chip's lanes since its reset; goes round at 2^16.", nil, nil)
	m.took = prometheus.NewDesc("sallyport_selftest_seconds", "Time that the last self-test took.", nil, nil)
	for _, c := range transport.Chips {
		for _, counter := range chip.CounterList[c] {
			name, help := "sallyport_"+counter.Name+"_total", "The chips' counter "+counter.Name+" since their reset."
			if counter.IsGauge() {
				name, help = "sallyport_"+counter.Name, "Packets that the chips hold now: "+counter.Name+"."
			}
			m.counters[c] = append(m.counters[c], prometheus.NewDesc(name, help, []string{"path", "kind"}, prometheus.Labels{"chip": c.String()}))
		}
	}
	return m
}

// Describe lists what Collect gives.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range transport.Chips {
		for _, desc := range m.counters[c] {
			out <- desc
		}
	}
	for _, desc := range slices.Concat([]*prometheus.Desc{m.sas, m.policies, m.byPrefix, m.events, m.left, m.routes, m.over, m.adopted, m.ready, m.tamper, m.linkUp, m.build, m.upset, m.wrong, m.written, m.lane, m.runs, m.took}, m.pair.descs(), m.health.descs(), m.tally.Descs()) {
		out <- desc
	}
}

// Collect reads everything once. If the chips do not answer, the scrape says why.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	d := m.daemon
	out <- prometheus.MustNewConstMetric(m.build, prometheus.GaugeValue, 1, d.version)
	m.pair.collect(d, out)
	for kind, count := range d.events.Counted() {
		out <- prometheus.MustNewConstMetric(m.events, prometheus.CounterValue, float64(count), kind)
	}
	shown := d.shown.Load()
	m.health.collect(d, shown, out)
	for _, queue := range events.QueueNames() {
		out <- prometheus.MustNewConstMetric(m.left, prometheus.CounterValue, float64(shown.left[queue]), queue)
	}
	out <- prometheus.MustNewConstMetric(m.adopted, prometheus.GaugeValue, number(d.adopted.Load()))
	for link, up := range shown.links {
		out <- prometheus.MustNewConstMetric(m.linkUp, prometheus.GaugeValue, number(up), link)
	}
	for _, c := range transport.Chips {
		out <- prometheus.MustNewConstMetric(m.ready, prometheus.GaugeValue, number(shown.statuses[c].Ready), c.String())
		out <- prometheus.MustNewConstMetric(m.tamper, prometheus.GaugeValue, number(shown.statuses[c].Tamper), c.String())
	}
	for _, t := range shown.tables {
		out <- prometheus.MustNewConstMetric(m.upset, prometheus.GaugeValue, number(t.Upset), t.Chip, t.Table)
		out <- prometheus.MustNewConstMetric(m.wrong, prometheus.CounterValue, float64(t.Wrong), t.Chip, t.Table)
		out <- prometheus.MustNewConstMetric(m.written, prometheus.CounterValue, float64(t.Written), t.Chip, t.Table)
	}
	tested := shown.tested
	out <- prometheus.MustNewConstMetric(m.runs, prometheus.CounterValue, float64(tested.Runs))
	out <- prometheus.MustNewConstMetric(m.took, prometheus.GaugeValue, tested.Seconds)
	for _, path := range tested.Paths() {
		for lane := range tested.Lanes {
			serves := !slices.Contains(path.Failed, lane)
			out <- prometheus.MustNewConstMetric(m.lane, prometheus.GaugeValue, number(serves), path.Name, strconv.Itoa(lane))
		}
	}
	for _, c := range transport.Chips {
		values, err := d.session.Box.Counters(c)
		if err != nil {
			out <- prometheus.NewInvalidMetric(m.counters[c][0], err)
			continue
		}
		for i, counter := range chip.CounterList[c] {
			as := prometheus.CounterValue
			if counter.IsGauge() {
				as = prometheus.GaugeValue
			}
			out <- prometheus.MustNewConstMetric(m.counters[c][i], as, float64(values[i]), counter.Path, counter.Kind)
		}
	}
	v, err := d.view()
	if err != nil {
		out <- prometheus.NewInvalidMetric(m.sas, err)
		return
	}
	m.tally.Collect(d.tallies, v.Model(), out)
	for dev, routes := range v.Model().FromLinux {
		if learned.Steers(dev) && len(v.Model().Interfaces) == 0 {
			continue
		}
		dev = v.Model().NameOfSet(dev)
		for state, count := range map[string]int{"installed": routes.Len() - routes.Refused() - routes.Long(), "refused": routes.Refused(), "too_long": routes.Long()} {
			out <- prometheus.MustNewConstMetric(m.routes, prometheus.GaugeValue, float64(count), dev, state)
		}
	}
	if d.host != nil {
		for dev, routes := range d.host.routes {
			out <- prometheus.MustNewConstMetric(m.over, prometheus.CounterValue, float64(routes.Over()), dev)
		}
		if d.host.apart != nil {
			for set, over := range d.host.apart.Over() {
				out <- prometheus.MustNewConstMetric(m.over, prometheus.CounterValue, float64(over), set)
			}
		}
	}
	for _, dir := range []xfrm.Dir{xfrm.DirIn, xfrm.DirOut} {
		out <- prometheus.MustNewConstMetric(m.sas, prometheus.GaugeValue, float64(v.Model().SAs.Count(dir)), string(dir))
	}
	if d.session.Box.Capabilities[transport.Inner].PolicyRows > 0 {
		named := v.Model().Policies.CountNamed()
		if len(v.Model().Interfaces) > 0 {
			named = 0 // they are rules beside routes to XFRM interfaces
		}
		out <- prometheus.MustNewConstMetric(m.byPrefix, prometheus.GaugeValue, float64(named))
	}
	for _, dir := range []xfrm.Dir{xfrm.DirIn, xfrm.DirOut, xfrm.DirFwd} {
		out <- prometheus.MustNewConstMetric(m.policies, prometheus.GaugeValue, float64(v.Model().Policies.Count(dir)), string(dir))
	}
}

// number is a state as Prometheus has it.
func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

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
