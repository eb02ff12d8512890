// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/api"
	daemonapi "sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/place"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

// daemonOf has a daemon take a world's box, as sallyportd does, and gives its control socket.
func daemonOf(t *testing.T, w *world) string {
	t.Helper()
	p, path := place.Place{Socket: w.socket}, filepath.Join(w.dir, "control.sock")
	claim, err := p.Claim(path)
	if err != nil {
		t.Fatal(err)
	}
	registers, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := chip.Open(t.Context(), registers)
	if err != nil {
		t.Fatal(err)
	}
	session := &session.Session{Box: b, StatePath: p.State()}
	if err := session.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.New(session, slog.New(slog.NewTextHandler(io.Discard, nil)), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.KeepConfig(p.Saved()); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", api.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	server, err := daemonapi.New(d, slog.New(slog.NewTextHandler(io.Discard, nil)), "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.Serve(ctx, listener, false) }()
	t.Cleanup(func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
		d.Close()
		claim.Close()
	})
	return path
}

// TestDaemon: through a daemon commands do and print what they do and print without one, before it
// came and after it has gone.
func TestDaemon(t *testing.T) {
	w := newWorld(t)
	w.fake.Count(transport.Inner, "rx_frames", 5)
	direct, remote := [][]string{}, [][]string{}
	commands := [][]string{
		{"-batch", w.file("b", batch)},
		{"-batch", w.file("bad", batch+"\nxfrm policy add dst 10.0.0.1/8 dir out\n")},
		{"-s", "xfrm", "state", "list"},
		{"xfrm", "policy", "list"},
		{"xfrm", "policy", "get", "dst", "10.9.0.0/16", "dir", "out"},
		{"xfrm", "frob"},
		{"qos", "set", "dscp", "ef"},
		{"qos", "show"},
		{"counters"},
		{"counters", "--json", "--check"},
		{"id"},
		{"id", "--json"},
	}
	other := newWorld(t)
	other.fake.Count(transport.Inner, "rx_frames", 5)
	path := daemonOf(t, other)
	for _, command := range commands {
		direct = append(direct, append([]string{"--socket", w.socket}, command...))
		remote = append(remote, append([]string{"--daemon", path}, command...))
	}
	for i := range commands {
		code, out, errs, sentence := run(direct[i]...)
		if c, o, e, s := run(remote[i]...); c != code || o != out || e != errs || s != sentence {
			t.Errorf("%v:\n%d %q %q %q, through the daemon\n%d %q %q %q", commands[i], code, out, errs, sentence, c, o, e, s)
		}
	}
}

// TestHeld: while a daemon has the box, there is no other way to it.
func TestHeld(t *testing.T) {
	w := newWorld(t)
	path := daemonOf(t, w)
	for _, test := range []struct {
		args     []string
		code     int
		sentence string
	}{
		{[]string{"--socket", w.socket, "id"}, 1, "sallyportd has this box: use sallyctl --daemon " + path + ", or stop it first"},
		{[]string{"--socket", w.socket, "xfrm", "state", "flush"}, 1, "sallyportd has this box"},
		{[]string{"--daemon", path, "events"}, 2, "sallyctl monitor"},
		{[]string{"--daemon", path, "audit"}, 2, "sallyctl monitor"},
		{[]string{"--daemon", path, "--socket", w.socket, "id"}, 2, "give one of"},
		{[]string{"--daemon", path, "--state", "x", "id"}, 2, "--state is not for --daemon or --server"},
		{[]string{"--daemon=" + w.dir + "/none", "id"}, 1, "cannot reach sallyportd at " + w.dir + "/none"},
		{[]string{"--daemon", path, "-batch", w.file("big", strings.Repeat("# a line of a comment\n", 1<<16))}, 2, "split it"},
	} {
		if code, _, _, sentence := run(test.args...); code != test.code || !strings.Contains(sentence, test.sentence) || strings.Contains(sentence, "\n") {
			t.Errorf("%v: %d %q, want %d %q", test.args, code, sentence, test.code, test.sentence)
		}
	}
	if code, _, _, sentence := run("--socket", newWorld(t).socket, "monitor"); code != 2 || !strings.Contains(sentence, "monitor is of sallyportd") {
		t.Errorf("%d %q", code, sentence)
	}
}

// TestOtherVersion: programs of two releases say in one sentence that they are, with exit status 2.
func TestOtherVersion(t *testing.T) {
	for version, want := range map[string]string{
		"2.0": "sallyportd speaks version 2.0 of its API, and this program " + api.Version + ": use programs of one release",
		"":    "what answers here is not the API of sallyportd",
	} {
		path := filepath.Join(t.TempDir(), "api.sock")
		listener, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			if version != "" {
				w.Header().Set(api.VersionHeader, version)
			}
		})}
		server.Protocols.SetUnencryptedHTTP2(true)
		go server.Serve(listener)
		t.Cleanup(func() { server.Close() })
		for _, args := range [][]string{{"id"}, {"xfrm", "state", "list"}, {"config", "show"}} {
			if code, _, _, sentence := run(append([]string{"--daemon", path}, args...)...); code != 2 || sentence != want {
				t.Errorf("%v: %d %q, want %q", args, code, sentence, want)
			}
		}
	}
}
