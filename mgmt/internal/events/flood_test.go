// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
)

// flood is how many events come to a queue as fast as they are taken.
const flood = 10_000

// TestFlood: from a queue that fills as fast as it is emptied, one poll, or one change, takes one
// queue's capacity and goes on; events that it leaves are counted.
func TestFlood(t *testing.T) {
	for _, test := range []struct {
		queue string
		raise func(*rig)
		take  func(*session.Session) error
	}{
		{"crypto_audit", func(r *rig) { r.Fake.Forge(0, 7) }, func(s *session.Session) error { return testbox.PrintEvents(s, s.Audit) }},
		{"inner_audit", func(r *rig) { r.Fake.Drop(0, regs.AuditReasonReplayed, 7) }, func(s *session.Session) error { return testbox.PrintEvents(s, s.Audit) }},
		{"lifetime", func(r *rig) { r.Fake.Expire(0) }, func(s *session.Session) error { return testbox.PrintEvents(s, s.Events) }},
		{"peer", func(r *rig) { r.Fake.Arrive(0, netip.MustParseAddrPort(moved), true) }, func(s *session.Session) error { return testbox.PrintEvents(s, s.Events) }},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(testbox.Encapsulated)
		var left map[string]uint64
		poll := func() {
			t.Helper()
			err := r.Session(func(s *session.Session) error {
				defer func() { left = s.Left() }()
				return test.take(s)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		test.raise(r)
		if poll(); left[test.queue] != 0 {
			t.Errorf("%s: %v was left of one event", test.queue, left)
		}
		r.Fake.Flood = flood
		test.raise(r)
		if poll(); flood-r.Fake.Flood != 16 || strings.Count(r.Out, "\n") > 16 || left[test.queue] != 1 {
			t.Errorf("%s: a poll took %d events, printed %d and counts as left %v", test.queue, flood-r.Fake.Flood, strings.Count(r.Out, "\n"), left)
		}
		before := r.Fake.Flood
		if r.Must(strings.ReplaceAll(inboundLine(testbox.Encapsulated), "0x2001", "0x2002")); test.queue != "lifetime" && before-r.Fake.Flood != 16 {
			t.Errorf("%s: a change discarded %d events", test.queue, before-r.Fake.Flood)
		}
	}
}

// inboundLine is the line of a batch that has the inbound SA.
func inboundLine(text string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "spi 0x2001") {
			return line
		}
	}
	return ""
}
