// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	daemonapi "sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/session"
)

// networkOf has a daemon of a world's box serve the network, and gives its address.
func networkOf(t *testing.T, w *world, folder string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := chip.Open(t.Context(), w.fake)
	must(err)
	held := &session.Session{Box: b, StatePath: filepath.Join(w.dir, "state")}
	must(held.Hold(t.Context()))
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	d, err := daemon.New(held, log, "test")
	must(err)
	own, err := mutual.ReadCertificates(filepath.Join(folder, "box-a.pem"))
	must(err)
	key, err := mutual.ReadKey(filepath.Join(folder, "box-a.key"))
	must(err)
	trust, err := mutual.ReadCertificates(filepath.Join(folder, "clients.pem"))
	must(err)
	access, err := mutual.NewAccess(own, key, trust, []string{"controller"}, []string{"watcher"})
	must(err)
	server, err := daemonapi.New(d, log, "test")
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.ServeNetwork(ctx, listener, daemonapi.NewNetwork(access)) }()
	t.Cleanup(func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
		d.Close()
	})
	return listener.Addr().String()
}

// TestServer: a daemon is reached over the network, and each failure is one sentence, with exit
// status 2 where options, files or certificates are wrong.
func TestServer(t *testing.T) {
	folder := t.TempDir()
	certtest.Write(t, folder, "box-a", time.Hour)
	clients := certtest.NewAuthority(t, folder, "clients")
	for _, name := range []string{"controller", "watcher", "stranger"} {
		clients.Sign(t, folder, name)
	}
	clients.Sign(t, folder, "old", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	file := func(name string) string { return filepath.Join(folder, name) }
	text, err := os.ReadFile(file("controller.key"))
	if err == nil {
		err = os.WriteFile(file("open.key"), text, 0o604)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	address := networkOf(t, w, folder)
	// as says who asks, with the options behind.
	as := func(name string, more ...string) []string {
		return append([]string{"--server", address, "--certificate", file(name + ".pem"), "--key", file(name + ".key"), "--trust", file("box-a.pem"), "--server-name", "box-a"}, more...)
	}
	if code, _, _, sentence := run(as("controller", "-batch", w.file("b", batch))...); code != 0 {
		t.Fatalf("%d %s", code, sentence)
	}
	if code, out, _, sentence := run(as("watcher", "xfrm", "policy", "count")...); code != 0 || out != "\t SPD IN  0 OUT 1 FWD 0\n" {
		t.Errorf("%d %q %s", code, out, sentence)
	}
	for _, test := range []struct {
		args     []string
		code     int
		sentence string
	}{
		{as("watcher", "xfrm", "policy", "flush"), 2, "this client may read alone"},
		{as("stranger", "id"), 2, "sallyportd at " + address + " refuses the connection: [api] in its configuration does not name this client"},
		{as("box-a", "id"), 2, "no authority that it trusts has signed this client's certificate"},
		{as("old", "id"), 2, "the certificate " + file("old.pem") + " expired on "},
		{as("none", "id"), 2, "cannot read the certificate " + file("none.pem") + ": no such file"},
		{as("controller", "--key", file("open.key"), "id"), 2, "everybody may reach the key "},
		{as("controller", "--key", file("watcher.key"), "id"), 2, "certificate and key do not belong together"},
		{as("controller", "--trust", file("clients.pem"), "id"), 2, "the certificate of " + address + " does not count: "},
		{as("controller", "--server-name", "box-b", "id"), 2, "certificate is valid for box-a, not box-b"},
		{as("controller", "--server", "127.0.0.1:1", "id"), 1, "cannot reach sallyportd at 127.0.0.1:1: "},
		{as("controller", "--server", "box-a", "id"), 2, `"box-a" is no HOST:PORT for --server`},
		{as("controller", "--server", ":4555", "id"), 2, "is no HOST:PORT"},
		{as("controller", "--server", "a:0", "id"), 2, "is no HOST:PORT"},
		{as("controller", "--server", "a:65536", "id"), 2, "is no HOST:PORT"},
		{as("controller", "--socket", w.socket, "id"), 2, "give one of --daemon, --server, --socket and --pci"},
		{as("controller", "--state", "x", "id"), 2, "--state is not for --daemon or --server"},
		{[]string{"--server", address, "id"}, 2, "--server needs --certificate FILE, or $SALLYPORT_CERTIFICATE"},
		{[]string{"--socket", w.socket, "--trust", "x", "id"}, 2, "--trust is for --server alone"},
		{[]string{"--socket", w.socket, "--server-name", "x", "id"}, 2, "--server-name is for --server alone"},
	} {
		if code, _, _, sentence := run(test.args...); code != test.code || !strings.Contains(sentence, test.sentence) || strings.Contains(sentence, "\n") {
			t.Errorf("%v: %d %q, want %d %q", test.args, code, sentence, test.code, test.sentence)
		}
	}
	t.Setenv("SALLYPORT_CERTIFICATE", file("watcher.pem"))
	t.Setenv("SALLYPORT_KEY", file("watcher.key"))
	t.Setenv("SALLYPORT_TRUST", file("box-a.pem"))
	if code, _, _, sentence := run("--server", address, "--server-name", "box-a", "id"); code != 0 {
		t.Errorf("%d %s", code, sentence)
	}
}
