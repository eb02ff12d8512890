// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestStatusIsTold: tamper and readiness are told once as they change, of each chip; `capabilities`
// and the metrics show what is now.
func TestStatusIsTold(t *testing.T) {
	r := newRig(t)
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	tamper := uint32(1) << regs.CommonStatusTamper.LSB
	for _, step := range []struct {
		chip   transport.Chip
		status uint32
	}{{transport.Crypto, 7}, {transport.Crypto, 7 | tamper}, {transport.Crypto, 7 | tamper}, {transport.Outer, 6}, {transport.Outer, 7}} {
		r.fake.Set(step.chip, regs.CommonStatus, step.status)
		r.poll()
	}
	for _, want := range []string{`{"event":"tamper","chip":"crypto","ok":false}`, `{"event":"ready","chip":"outer","ok":false}`, `{"event":"ready","chip":"outer","ok":true}`} {
		if got := monitor.next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r.same("tamper of id", r.get("capabilities", "")["chips"].(map[string]any)["crypto"].(map[string]any)["tamper"], true)
	text := r.scrape()
	for _, want := range []string{
		`sallyport_tamper{chip="crypto"} 1`, `sallyport_tamper{chip="inner"} 0`, `sallyport_ready{chip="outer"} 1`, `sallyport_link_up{link="inner"} 1`,
		`sallyport_events_total{event="tamper"} 1`, `sallyport_events_total{event="ready"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if log := r.log.String(); !strings.Contains(log, "<3>") || !strings.Contains(log, "Tamper input of the crypto chip") {
		t.Error("the log has no error of the tamper input")
	}
}

// TestLinkEvents: each change is told once, configured or not.
func TestLinkEvents(t *testing.T) {
	r := newRig(t)
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	for _, status := range []uint32{0b111, 0b101, 0b101, 0b111} {
		r.fake.Set(transport.Crypto, regs.CommonStatus, status)
		r.poll()
	}
	for _, want := range []string{`{"event":"link","link":"inner","up":false}`, `{"event":"link","link":"inner","up":true}`} {
		if got := monitor.next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if count := r.daemon.events.counted()["link"]; count != 2 {
		t.Errorf("%d events", count)
	}
}
