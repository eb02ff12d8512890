// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

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
