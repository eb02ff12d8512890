package box

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
)

// audit is one invocation of `sallyctl audit`, a second after the one before, and what it must print behind the time.
func (r *rig) audit(lines ...string) {
	r.t.Helper()
	r.clock++
	at := time.Date(2026, 2, 28, 23, 59, 59, 1e8, time.FixedZone("", 3600)).Add(time.Duration(r.clock) * time.Second)
	err := r.session(func(s *Session) error {
		s.Now = func() time.Time { return at }
		return s.Audit()
	})
	if err != nil {
		r.t.Fatal(err)
	}
	want := ""
	for _, line := range lines {
		want += fmt.Sprintf("2026-02-28T23:%02d:%02dZ %s\n", r.clock/60, (59+r.clock)%60, line)
	}
	if r.out != want {
		r.t.Errorf("audit:\n%s\nwant\n%s", r.out, want)
	}
}

const ofPeer = " src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x00002001 reqid 1 dir in seq "

// TestAudit: a line for each event, in order, in UTC; of an SA that is gone none.
func TestAudit(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.must(tunnel)
	r.audit()
	r.fake.Drop(0, regs.AuditReasonReplayed, 1<<32-1)
	r.fake.Drop(0, regs.AuditReasonTooOld, 7)
	r.fake.Drop(5, regs.AuditReasonTooOld, 8)
	r.fake.Drop(0, regs.AuditReasonSelectorMismatch, 9)
	r.fake.Drop(0, regs.AuditReasonSelectorMismatch, 10)
	r.fake.Drop(0, regs.AuditReasonNoSelector, 0)
	r.audit("drop_replayed"+ofPeer+"4294967295", "drop_too_old"+ofPeer+"7", "drop_selector_mismatch"+ofPeer+"9", "drop_no_selector"+ofPeer+"0")
	if r.notes != "" {
		t.Errorf("notes %q", r.notes)
	}
	r.audit()
	if r.events(); r.out != "" {
		t.Errorf("events:\n%s", r.out)
	}
}

// TestAuditLost: what was lost is said, once, beside what was not.
func TestAuditLost(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.must(tunnel)
	var lines []string
	for n := range uint32(17) {
		r.fake.Drop(0, n%2, n)
		lines = append(lines, fmt.Sprintf("drop_%s%s%d", regs.AuditReasonNames[n%2], ofPeer, n))
	}
	r.audit(lines[:16]...)
	if strings.Count(r.notes, "\n") != 1 || !strings.Contains(r.notes, "audit events were lost") {
		t.Errorf("notes %q", r.notes)
	}
	r.audit()
	if r.notes != "" {
		t.Errorf("notes %q", r.notes)
	}
}

// TestAuditOfAnother: what waits of an SA is not said of the one that gets its row, and that it is not said is.
func TestAuditOfAnother(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.must(tunnel)
	state := ""
	for line := range strings.Lines(tunnel) {
		if strings.Contains(line, "spi 0x2001") {
			state = line
		}
	}
	r.fake.Drop(0, regs.AuditReasonReplayed, 3)
	r.quiet("xfrm policy add dst 10.7.0.0/16 dir out action block")
	r.audit("drop_replayed" + ofPeer + "3")

	r.fake.Drop(0, regs.AuditReasonReplayed, 4)
	r.must("xfrm state delete src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001")
	r.must(strings.Replace(state, "0x2001", "0x2002", 1))
	if sa, _ := r.sad(0x2002, "192.0.2.1"); sa != 0 {
		t.Fatalf("the new SA is in row %d, not in that of the old one", sa)
	}
	if !strings.Contains(r.notes, "1 audit events that waited") {
		t.Errorf("notes %q", r.notes)
	}
	r.audit()
}
