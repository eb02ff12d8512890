// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"encoding/json"
	"testing"

	"sallyport/mgmt/internal/events"
)

// TestEventAsJSON: a client reads what the daemon wrote, also an acquire, whose protocol is a
// number.
func TestEventAsJSON(t *testing.T) {
	for _, text := range []string{
		`{"event":"acquire","src":"10.1.0.9","dst":"10.2.0.9","proto":6,"reqid":1,"policy":"src 10.1.0.0/16","sport":40000,"dport":443}`,
		`{"event":"expire","src":"192.0.2.1","dst":"192.0.2.2","proto":"esp","spi":4097,"reqid":1,"dir":"out","hard":false,"limit":"bytes"}`,
	} {
		var event events.Event
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if again, err := json.Marshal(event); err != nil || string(again) != text {
			t.Errorf("%s, %v, want %s", again, err, text)
		}
	}
	if err := json.Unmarshal([]byte(`{"event":"acquire","proto":true}`), &events.Event{}); err == nil {
		t.Error("a protocol that is neither")
	}
}
