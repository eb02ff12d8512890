// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/hostrows"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// asked is a UDP packet of one flow.
var asked = testbox.Asked

// The box's address at black, and an SA from there.
const (
	local    = "addr add 192.0.2.1/24 dev black"
	outbound = `xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel replay-window 64 aead "rfc4106(gcm(aes))" ` + testbox.Key128 + " 128"
)

// held is a session as a box.
type held struct{ *session.Session }

func (h held) View() (*session.View, error) {
	if v, err := h.Session.View(); v != nil || err != nil {
		return v, err
	}
	return h.Look()
}

// rig is a fake box, and a teller of its senders.
type rig struct {
	t       *testing.T
	session *session.Session
	teller  *Teller
	now     func() time.Time
}

// newRig has a tree of so many leaves, as log2; 0: none.
func newRig(t *testing.T, prefixBits uint32) *rig {
	t.Helper()
	sizes := fakebox.Small
	sizes.PrefixBits = prefixBits
	b, err := chip.Open(t.Context(), fakebox.New(sizes))
	if err != nil {
		t.Fatal(err)
	}
	s := &session.Session{Box: b, StatePath: filepath.Join(t.TempDir(), "state.json"), Out: io.Discard, Notes: io.Discard}
	if err := s.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Release(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, session: s, now: time.Now}
	log := slog.New(slog.DiscardHandler)
	r.teller = New(held{s}, log, func() time.Time { return r.now() }, func(events.Event) {}, hostrows.NewTallies())
	return r
}

// must loads a batch.
func (r *rig) must(lines ...string) {
	r.t.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(strings.Join(lines, "\n")))
	if err == nil {
		err = r.session.Run(commands)
	}
	if err != nil {
		r.t.Error(err)
	}
}
