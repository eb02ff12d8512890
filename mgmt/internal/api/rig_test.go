// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/mgmt/api/client"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
)

// rig is a daemon of a fake box with the sockets of its API.
type rig struct {
	*testing.T
	fake           *fakebox.Box
	daemon         *daemon.Daemon
	server         *Server
	path, readPath string
	log            *testbox.Log
	stop           func() // and wait for the end
}

func newRig(t *testing.T, edits ...func(*Server)) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{T: t, fake: fakebox.New(fakebox.Small), path: filepath.Join(dir, "api.sock"), readPath: filepath.Join(dir, "api-read.sock"), log: &testbox.Log{}}
	chips, err := chip.Open(t.Context(), r.fake)
	r.must(err)
	s := &session.Session{Box: chips, StatePath: filepath.Join(dir, "state"), Out: io.Discard, Notes: io.Discard}
	r.must(s.Hold(t.Context()))
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.daemon, err = daemon.New(s, log, "1.2.3")
	r.must(err)
	r.server, err = New(r.daemon, log, "1.2.3")
	r.must(err)
	for _, edit := range edits {
		edit(r.server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	for path, readers := range map[string]bool{r.path: false, r.readPath: true} {
		listener, err := net.Listen("unix", path)
		r.must(err)
		served.Go(func() {
			if err := r.server.Serve(ctx, listener, readers); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	r.stop = sync.OnceFunc(func() {
		cancel()
		served.Wait()
		if err := r.daemon.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) client(path string) *client.Client {
	c := client.Dial(path)
	r.Cleanup(c.Close)
	return c
}

// impatient has a server wait half a second for its clients.
func impatient(s *Server) { s.readTimeout, s.writeTimeout = 500*time.Millisecond, 500*time.Millisecond }

// configured is a rig with a tunnel.
func configured(t *testing.T, edits ...func(*Server)) (*rig, *client.Client) {
	t.Helper()
	r := newRig(t, edits...)
	c := r.client(r.path)
	_, err := c.SealedBatch(t.Context(), "f", []byte(strings.TrimPrefix(testbox.Tunnel, "\n")))
	r.must(err)
	return r, c
}

// until waits for something that comes soon.
func (r *rig) until(what string, is func() bool) {
	r.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("%s: not within 20 s\n%s", what, r.log)
		}
	}
}

// stops has a server end, which must not wait for its clients for ever.
func stops(t *testing.T, stop func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the daemon waits for its clients")
	}
}
