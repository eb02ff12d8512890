// SPDX-License-Identifier: Apache-2.0

package daemon

import (
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
	r.fake.Expire(0)
	r.poll()
	text := r.scrape()
	for _, want := range []string{
		`sallyport_rx_frames_total{chip="inner",kind="received",path="encrypt"} 5`, `sallyport_sas{dir="in"} 1`, `sallyport_sas{dir="out"} 1`,
		`sallyport_policies{dir="fwd"} 1`, `sallyport_events_total{event="expire"} 1`, `sallyport_events_total{event="icv"} 0`, "sallyport_configured 1",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for chip, list := range map[string][]regs.Counter{"inner": regs.InnerCounters, "crypto": regs.CryptoCounters, "outer": regs.OuterCounters} {
		for _, counter := range list {
			if !strings.Contains(text, "sallyport_"+counter.Name+`_total{chip="`+chip+`"`) {
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
