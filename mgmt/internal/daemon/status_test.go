// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestStatusIsTold: tamper and readiness are told once as they change, of each chip; `capabilities`
// and the metrics show the present state.
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
	if count := r.daemon.events.Counted()["link"]; count != 2 {
		t.Errorf("%d events", count)
	}
}

// TestTamperIsWaitedFor: while the tamper input is active no reader is told of SAs, changes are
// refused, and nothing is written. Then the box is configured again but for SAs.
func TestTamperIsWaitedFor(t *testing.T) {
	r := newConfigRig(t)
	r.must(tunnel...)
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	r.fake.Tamper(true)
	r.same("SAs before a poll", r.get("command", `,"words":["xfrm","state","count"]`)["output"], "\t SAD count 0\n")
	r.fake.Log = nil
	for range 3 {
		r.poll()
		r.same("SAs", r.get("list", `,"what":"state"`)["items"], []any{})
		answer := r.get("batch", fmt.Sprintf(`,"lines":[%q]`, neighbour))
		r.same("a change", answer["error"], chip.ErrErased.Error())
		r.same("is not its client's fault", answer["input"], false)
		r.same("a load of a configuration", r.load(0)["error"], chip.ErrErased.Error())
	}
	r.same("rows", len(r.fake.Log), 0)
	if !strings.Contains(r.scrape(), "sallyport_configured 0\n") {
		t.Error("the metrics say that the box is configured")
	}
	r.fake.Tamper(false)
	r.poll()
	for _, want := range []string{
		`{"event":"tamper","chip":"crypto","ok":false}`, `{"event":"ready","chip":"crypto","ok":false}`, `{"event":"restart"}`,
		`{"event":"ready","chip":"crypto","ok":true}`,
	} {
		r.same("event", monitor.next(), want)
	}
	r.same("SAs then", r.get("list", `,"what":"state"`)["items"], []any{})
	r.same("policies then", len(r.get("list", `,"what":"policy"`)["items"].([]any)), 2)
	if n := strings.Count(r.log.String(), "the chips have lost their configuration"); n != 1 {
		t.Errorf("the log tells %d times", n)
	}
	r.must(neighbour, otherKey(tunnel[1]), tunnel[2])
}

// TestZeroizeIsNoticed: keys that others have erased are a loss of the configuration.
func TestZeroizeIsNoticed(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	zeroize := uint32(1) << regs.CryptoControlZeroize.LSB
	if err := transport.Write32(r.fake, transport.Crypto, regs.CryptoControl.Offset, zeroize); err != nil {
		t.Fatal(err)
	}
	if v, err := r.daemon.session.View(); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	r.poll()
	r.same("restarts", r.daemon.events.Counted()[events.EventRestart], 1)
	r.same("SAs", r.get("list", `,"what":"state"`)["items"], []any{})
	r.same("enable", r.fake.Get(transport.Crypto, regs.CryptoControl)&1, 1)
}

// TestDisabledChip: a crypto chip that is not enabled has lost its keys, whatever its mark says.
func TestDisabledChip(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	r.fake.Set(transport.Crypto, regs.CryptoControl, 0)
	if v, err := r.daemon.session.View(); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	r.poll()
	r.same("restarts", r.daemon.events.Counted()[events.EventRestart], 1)
	r.same("SAs", r.get("list", `,"what":"state"`)["items"], []any{})
}

// TestUpset: look-ups that meet a flipped bit have the daemon write the table anew with its polls,
// which it tells in the log, to monitors and in the metrics.
func TestUpset(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	want := fmt.Sprint(r.fake.Table(transport.Outer, regs.OuterTableSad))
	r.fake.Flip(transport.Outer, regs.OuterTableSad, 5, 1)
	r.mend()
	r.fake.Meet(transport.Outer, regs.OuterTableSad, 5)
	r.mend()
	for _, want := range []string{`{"event":"upset","chip":"outer","table":"sad","ok":false}`, `{"event":"upset","chip":"outer","table":"sad","ok":true}`} {
		r.same("event", monitor.next(), want)
	}
	r.same("sad", r.fake.Table(transport.Outer, regs.OuterTableSad), want)
	text := r.scrape()
	for _, want := range []string{
		`sallyport_events_total{event="upset"} 2`, `sallyport_table_upset{chip="outer",table="sad"} 0`,
		`sallyport_table_rows_rewritten_total{chip="outer",table="sad"} 64`, `sallyport_table_rows_wrong_total{chip="inner",table="flow"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if log := r.log.String(); !strings.Contains(log, "<4>") || !strings.Contains(log, "Upset: a flipped bit in table sad of the outer chip") {
		t.Error("the log has no warning of the flipped bit")
	}
}

// TestUpsetWithoutConfiguration: chips without one are left alone.
func TestUpsetWithoutConfiguration(t *testing.T) {
	r := newRig(t)
	r.fake.Count(transport.Inner, "flow_row_upset", 1)
	r.mend()
	r.same("rows written", len(r.fake.Log), 0)
}

// mend is a poll's step of repairing rows.
func (r *rig) mend() {
	r.t.Helper()
	r.daemon.mu.Lock()
	defer r.daemon.mu.Unlock()
	if err := r.daemon.mend(); err != nil {
		r.t.Fatal(err)
	}
}
