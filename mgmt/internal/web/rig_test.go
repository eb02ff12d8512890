// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

const (
	keyOut = "000102030405060708090a0b0c0d0e0fa0a1a2a3"
	keyIn  = "101112131415161718191a1b1c1d1e1fb0b1b2b3"
	tunnel = `addr add 192.0.2.1/24 dev black
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel replay-window 64 aead "rfc4106(gcm(aes))" 0x` + keyOut + ` 128
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 64 encap espinudp 4500 4500 0.0.0.0 aead "rfc4106(gcm(aes))" 0x` + keyIn + ` 128
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 7 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.9.0.0/16 dst 10.8.0.0/16 dir in action block
`
)

// rig is a fake box with a daemon and its page.
type rig struct {
	t      *testing.T
	fake   *fakebox.Box
	daemon *daemon.Daemon
	page   *Page
}

func newRig(t *testing.T) *rig {
	t.Helper()
	fake := fakebox.New(fakebox.Small)
	chips, err := chip.Open(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	session := &session.Session{Box: chips, StatePath: filepath.Join(t.TempDir(), "state.json")}
	if err := session.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	d, err := daemon.New(session, log, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{t, fake, d, New(d, log)}
}

// load carries out a batch.
func (r *rig) load(text string) {
	r.t.Helper()
	commands, err := xfrm.ParseBatch("batch", []byte(text))
	if err == nil {
		_, err = r.daemon.Run(commands, session.Lists{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// sample has the page sample the box when its chips have counted so many seconds since their reset.
func (r *rig) sample(seconds float64) {
	r.t.Helper()
	for _, c := range transport.Chips {
		r.fake.Tick(c, uint64(seconds*float64(fakebox.CoreClock.Hz())))
	}
	if err := r.page.sample(); err != nil {
		r.t.Fatal(err)
	}
}

// ask sends a request as a browser of this machine does.
func (r *rig) ask(method, path string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, nil)
	request.Host = "127.0.0.1:9775"
	answer := httptest.NewRecorder()
	r.page.Handler().ServeHTTP(answer, request)
	return answer
}

// box is what the page is told, as JSON, after a place.
func (r *rig) box(after string) map[string]any {
	r.t.Helper()
	got := r.ask("GET", "/api/box?after="+after)
	if got.Code != http.StatusOK || got.Header().Get("Content-Type") != "application/json" {
		r.t.Fatal(got.Code, got.Body)
	}
	out := map[string]any{}
	if err := json.Unmarshal(got.Body.Bytes(), &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// same compares as JSON.
func (r *rig) same(what string, got any, want string) {
	r.t.Helper()
	text, err := json.Marshal(got)
	if err != nil || string(text) != want {
		r.t.Errorf("%s:\n %s, want\n %s", what, text, want)
	}
}
