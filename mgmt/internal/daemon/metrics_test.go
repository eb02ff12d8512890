// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

func (r *rig) scrape() string {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewMetrics(r.daemon))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestMetrics: every counter is there under its name, and Prometheus' own linter finds nothing
// to say.
func TestMetrics(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	r.fake.Count(transport.Inner, "rx_frames", 5)
	r.fake.Count(transport.Outer, "reasm_held", 3)
	r.fake.Expire(0)
	r.poll()
	text := r.scrape()
	for _, want := range []string{
		`sallyport_rx_frames_total{chip="inner",kind="received",path="encrypt"} 5`, "# TYPE sallyport_rx_frames_total counter", "# TYPE sallyport_reasm_held gauge",
		`sallyport_reasm_held{chip="outer",kind="held",path="decrypt"} 3`, `sallyport_sas{dir="in"} 1`, `sallyport_sas{dir="out"} 1`,
		`sallyport_policies{dir="fwd"} 1`, `sallyport_events_total{event="expire"} 1`, `sallyport_events_total{event="icv"} 0`, "sallyport_configured 1",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for chip, list := range map[string][]regs.Counter{"inner": regs.InnerCounters, "crypto": regs.CryptoCounters, "outer": regs.OuterCounters} {
		for _, counter := range list {
			end := "_total"
			if counter.Kind == "held" {
				end = ""
			}
			if !strings.Contains(text, "sallyport_"+counter.Name+end+`{chip="`+chip+`"`) {
				t.Errorf("no %s of %s", counter.Name, chip)
			}
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(err, problems)
	}
	r.fake.FailAfter = 1
	if text := r.scrape(); !strings.Contains(text, "the bus is gone") {
		t.Error(text)
	}
}

// TestFlood: events that come as fast as they are taken keep neither a poll nor a request waiting;
// that some are left is counted.
func TestFlood(t *testing.T) {
	const flood = 10_000
	r := newRig(t)
	r.must(tunnel...)
	r.fake.Forge(0, 1)
	r.fake.Flood = flood
	r.poll()
	r.same("taken by a poll", flood-r.fake.Flood, 16)
	r.must("xfrm policy add dst 10.7.0.0/16 dir out action block")
	r.same("taken by the poll before a change", flood-r.fake.Flood, 32)
	if text := r.scrape(); !strings.Contains(text, `sallyport_event_queue_left_total{queue="crypto_audit"} 2`+"\n") {
		t.Error(text)
	}
}

// TestHealthMetrics: the ports' signals and the cards' measurements come a poll later, a card that
// does not answer has none, and a box without cards or noise source has no such metric.
func TestHealthMetrics(t *testing.T) {
	r := newRig(t)
	r.poll()
	for _, name := range []string{"sallyport_port_signal", "sallyport_card_", "sallyport_noise_good"} {
		if text := r.scrape(); strings.Contains(text, name) {
			t.Errorf("%s of a box that has none", name)
		}
	}
	shells := r.fake.AddShells()
	r.daemon.health = health{}
	shells[transport.Outer].Set(regs.ShellMacState, 0, 0)
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		shells[c].DRP = map[uint32]uint16{0: 0xA110, 1: 0x4889, 2: 0x999A}
	}
	r.daemon.UseNoise(io.Discard)
	r.poll()
	text := r.scrape()
	for _, want := range []string{
		`sallyport_port_signal{port="red"} 1`, `sallyport_port_signal{port="black"} 0`, `sallyport_noise_good 0`,
		`sallyport_card_temperature_celsius{chip="inner"} 40.2`, `sallyport_card_vccint_volts{chip="outer"} 0.85`, `sallyport_card_vccaux_volts{chip="outer"} 1.8`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, `card_temperature_celsius{chip="crypto"}`) {
		t.Error("a temperature of a card that does not answer")
	}
	accesses := r.fake.Writes
	r.poll()
	r.same("accesses of monitors within their period", r.fake.Writes, accesses)
}
