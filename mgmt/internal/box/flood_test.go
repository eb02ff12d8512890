package box

import (
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
)

// flood is how many events come to a queue as fast as they are taken.
const flood = 10_000

// TestFlood: of a queue that fills as fast as it is emptied, one poll, or one change, takes what the queue holds at a time and goes on; what it left is counted.
func TestFlood(t *testing.T) {
	for _, test := range []struct {
		queue string
		raise func(*rig)
		take  func(*Session) error
	}{
		{"crypto_audit", func(r *rig) { r.fake.Forge(0, 7) }, func(s *Session) error { return printEvents(s, s.Audit) }},
		{"inner_audit", func(r *rig) { r.fake.Drop(0, regs.AuditReasonReplayed, 7) }, func(s *Session) error { return printEvents(s, s.Audit) }},
		{"lifetime", func(r *rig) { r.fake.Expire(0) }, func(s *Session) error { return printEvents(s, s.Events) }},
		{"peer", func(r *rig) { r.fake.Arrive(0, netip.MustParseAddrPort(moved), true) }, func(s *Session) error { return printEvents(s, s.Events) }},
	} {
		r := newRig(t, fakebox.Small)
		r.must(encapsulated)
		var left map[string]uint64
		poll := func() {
			t.Helper()
			err := r.session(func(s *Session) error {
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
		r.fake.Flood = flood
		test.raise(r)
		if poll(); flood-r.fake.Flood != 16 || strings.Count(r.out, "\n") > 16 || left[test.queue] != 1 {
			t.Errorf("%s: a poll took %d events, printed %d and counts as left %v", test.queue, flood-r.fake.Flood, strings.Count(r.out, "\n"), left)
		}
		before := r.fake.Flood
		if r.must(strings.ReplaceAll(inboundLine(encapsulated), "0x2001", "0x2002")); test.queue != "lifetime" && before-r.fake.Flood != 16 {
			t.Errorf("%s: a change discarded %d events", test.queue, before-r.fake.Flood)
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
