// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"testing"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

// TestLinks: what changes is an event.
func TestLinks(t *testing.T) {
	r := newRig(t, fakebox.Small)
	last := events.AllUp()
	for _, step := range []struct {
		status uint32
		want   string
	}{
		{0b111, "[]"},
		{0b101, "[Link crypto inner down]"},
		{0b011, "[Link crypto inner up Link crypto outer down]"},
		{0b001, "[Link crypto inner down]"},
		{0b111, "[Link crypto inner up Link crypto outer up]"},
	} {
		r.Fake.Set(transport.Crypto, regs.CommonStatus, step.status)
		err := r.Session(func(s *session.Session) error {
			now, err := events.ReadLinks(s.Box)
			if got := fmt.Sprint(last.LinkEvents(now)); got != step.want {
				t.Errorf("%03b: %s, want %s", step.status, got, step.want)
			}
			last = now
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
