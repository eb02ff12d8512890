// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"encoding/json"
	"testing"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestSequence: an SA without a limit of its own that has used its last number is one event, and
// the register is cleared for the next.
func TestSequence(t *testing.T) {
	const soft, exhausted = 1, 2
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Limited("add", "out", 7, "") + testbox.Limited("add", "out", 8, "limit packet-hard 5"))
	for _, test := range []struct {
		row, bits uint32
		want      string
	}{
		{0, exhausted, "Sequence numbers used up src 192.0.2.7 dst 192.0.2.8 proto esp spi 0x00000007 reqid 7 dir out\n"},
		{0, 0, ""},
		{0, soft, ""},
		{0, soft | exhausted, ""}, // the event may be of either kind
		{1, exhausted, ""},        // an expire
		{5, exhausted, ""},        // gone
	} {
		r.Fake.Set(transport.Crypto, regs.CryptoSequenceEvents, test.row<<regs.CryptoSequenceEventsSa.LSB|test.bits)
		before := r.Fake.Get(transport.Crypto, regs.CryptoControl)
		r.Events()
		if r.Out != test.want || r.Fake.Get(transport.Crypto, regs.CryptoSequenceEvents) != 0 || r.Fake.Get(transport.Crypto, regs.CryptoControl) != before {
			t.Errorf("%+v: %q", test, r.Out)
		}
	}
	text, err := json.Marshal(events.Event{Kind: events.EventSequence})
	if err != nil || string(text) != `{"event":"sequence"}` {
		t.Error(string(text), err)
	}
}
