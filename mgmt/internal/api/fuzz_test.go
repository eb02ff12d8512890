// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"sallyport/mgmt/api"
	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
)

// FuzzMethods: whatever a reader sends to whichever method, in each encoding, is answered, with the
// version, and writes nothing.
func FuzzMethods(f *testing.F) {
	fake := fakebox.New(fakebox.Small)
	chips, err := chip.Open(f.Context(), fake)
	if err != nil {
		f.Fatal(err)
	}
	held := &session.Session{Box: chips, StatePath: filepath.Join(f.TempDir(), "state"), Out: io.Discard, Notes: io.Discard}
	if err := held.Hold(f.Context()); err != nil {
		f.Fatal(err)
	}
	d, err := daemon.New(held, slog.New(slog.DiscardHandler), "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	server, err := New(d, slog.New(slog.DiscardHandler), "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(server.paths)), func(path string) bool { return filepath.Base(path) == "Watch" })
	encodings := []string{"application/json", "application/proto", "application/grpc", "application/grpc-web+proto", "text/plain"}
	f.Add(uint8(0), uint8(0), []byte(`{"number":"18446744073709551615","dst":"192.0.2.1"}`))
	f.Add(uint8(3), uint8(0), []byte(`{"lines":["xfrm state flush"],"sealed":{"keyId":"","text":"AAAA"}}`))
	f.Add(uint8(4), uint8(1), []byte("\n\x04xfrm\n\x05state\n\x05flush"))
	f.Add(uint8(9), uint8(2), []byte("\x00\x00\x00\x00\x02\n\x00"))
	before := fake.Writes
	f.Fuzz(func(t *testing.T, path, encoding uint8, body []byte) {
		r := httptest.NewRequest("POST", paths[int(path)%len(paths)], bytes.NewReader(body))
		r.Header.Set("Content-Type", encodings[int(encoding)%len(encodings)])
		r.Header.Set("Connect-Protocol-Version", "1")
		r = r.WithContext(context.WithValue(r.Context(), partyKey{}, party{caller: caller.Remote("fuzz", "192.0.2.1:1").Reading()}))
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		if answer.Header().Get(api.VersionHeader) != api.Version {
			t.Error("the answer has no version")
		}
		if now := fake.Writes; now != before && filepath.Base(r.URL.Path) != "GetCounters" && filepath.Base(r.URL.Path) != "GetCapabilities" {
			t.Errorf("%s has written", r.URL.Path)
		}
		before = fake.Writes // counters are read by their index
	})
}
