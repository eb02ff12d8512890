// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// TestHeld: a session that has the box alone goes on as one that reads the file anew. It says that
// it is alive each time that the chips have taken rows.
func TestHeld(t *testing.T) {
	r := newRig(t, fakebox.Small)
	alive := 0
	err := r.Session(func(s *session.Session) error {
		s.Alive = func() { alive++ }
		run := func(text string) error {
			commands, err := xfrm.ParseBatch("f", []byte(text))
			if err != nil {
				return err
			}
			return s.Run(commands)
		}
		if err := s.Hold(); err != nil {
			return err
		}
		if err := run(testbox.Tunnel); err != nil {
			return err
		}
		if err := run("addr add 10.1.0.9/24 dev red\n"); err != nil {
			return err
		}
		return s.Release()
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows := len(r.Fake.Log); alive == 0 || alive > rows || chip.MostRows > rows && alive > 10 {
		t.Errorf("alive %d times for %d rows", alive, rows)
	}
	once := newRig(t, fakebox.Small)
	once.Must(testbox.Tunnel)
	once.Must("addr add 10.1.0.9/24 dev red")
	if r.Snapshot() != once.Snapshot() {
		t.Errorf("the tables are\n%s\nwant\n%s", r.Snapshot(), once.Snapshot())
	}
	r.Must("xfrm state list")
	if got := r.Out; strings.Count(got, "<redacted>") != 2 {
		t.Error(got)
	}
}
