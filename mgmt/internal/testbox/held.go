// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// Held is a rig whose session is held, as a daemon holds it, so that changes look at a part.
type Held struct {
	*Rig
	Daemon *session.Session
}

// Hold makes one. Its session ends with the test.
func Hold(t *testing.T, sizes fakebox.Sizes) *Held {
	t.Helper()
	h := &Held{Rig: New(t, sizes)}
	h.begin()
	t.Cleanup(func() { _ = h.Daemon.Release() })
	return h
}

func (h *Held) begin() {
	h.T.Helper()
	h.Daemon = &session.Session{Box: h.Open(), StatePath: h.State, Out: &strings.Builder{}, Notes: &strings.Builder{}}
	if err := h.Daemon.Hold(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
}

// Restart is the end of the daemon and the start of the next.
func (h *Held) Restart() {
	h.T.Helper()
	if err := h.Daemon.Release(); err != nil {
		h.T.Fatal(err)
	}
	h.begin()
}

// Change runs a batch.
func (h *Held) Change(text string) error {
	h.T.Helper()
	h.Fake.Log = nil
	commands, err := xfrm.ParseBatch("f", []byte(text))
	if err != nil {
		h.T.Fatalf("%v\n%s", err, text)
	}
	return h.Daemon.Run(commands)
}

// Must runs a batch that succeeds.
func (h *Held) Must(text string) {
	h.T.Helper()
	if err := h.Change(text); err != nil {
		h.T.Fatalf("%v\n%s", err, text)
	}
}
