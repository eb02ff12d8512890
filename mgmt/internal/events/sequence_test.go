// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"encoding/json"
	"testing"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// TestSequence: an SA that has used its last number, or has lost its counter or key, is one event,
// and the register is cleared for the next. One that has reached its own limit is an expire.
func TestSequence(t *testing.T) {
	const soft, exhausted = 1, 2
	const lost = "Sequence numbers used up src 192.0.2.8 dst 192.0.2.9 proto esp spi 0x00000008 reqid 8 dir out\n"
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Limited("add", "out", 7, "") + testbox.Limited("add", "out", 8, "limit packet-hard 5"))
	for _, test := range []struct {
		row, bits uint32
		last      uint64
		want      string
	}{
		{0, exhausted, 1<<32 - 1, "Sequence numbers used up src 192.0.2.7 dst 192.0.2.8 proto esp spi 0x00000007 reqid 7 dir out\n"},
		{0, 0, 0, ""},
		{0, soft, 0, ""},
		{0, soft | exhausted, 0, ""}, // the event may be of either kind
		{1, exhausted, 5, ""},        // an expire
		{1, exhausted, 4, lost},      // its key row has flipped bits
		{1, exhausted, 1<<64 - 1, lost},
		{5, exhausted, 0, ""}, // gone
	} {
		r.Fake.Set(transport.Crypto, regs.CryptoSequenceEvents, test.row<<regs.CryptoSequenceEventsSa.LSB|test.bits)
		r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[int(test.row)] = compile.NumberRow(test.last)
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
