// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/certtest"
)

const kept = `msg="the configuration stays as it was"`

// TestRemoteReload: at SIGHUP the process takes another list of clients. One that is not in it any
// more loses its stream of events and does not come in; others go on. A file that is wrong leaves
// the list as it was, and the log says so. Without [api] no client is left.
func TestRemoteReload(t *testing.T) {
	if isRemoted() {
		return
	}
	r := newRemotes(t)
	r.authority.Sign(t, r.dir, "new")
	r.start()
	r.ready()
	watch := func(name string) *connect.ServerStreamForClient[sallyportv1.WatchResponse] {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		stream, err := r.remote(name).Watch(ctx, &sallyportv1.WatchRequest{})
		must(t, err)
		t.Cleanup(func() { stream.Close() })
		return stream
	}
	controller, watcher := watch("controller"), watch("watcher")
	const read = `msg="the configuration was read again"`
	r.hangUp(read)

	r.configure("change = [")
	r.hangUp(kept)
	r.configure(`change = ["controller"]` + "\n" + `read = ["new"]`)
	for name, text := range map[string]string{"box-a.key": "", "box-a.pem": "x", "clients.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"} {
		whole, err := os.ReadFile(r.file(name))
		must(t, err)
		must(t, os.WriteFile(r.file(name), []byte(text), 0o600))
		r.hangUp(kept)
		must(t, os.WriteFile(r.file(name), whole, 0o600))
	}
	must(t, r.version(r.remote("watcher")))
	if err := r.version(r.remote("new")); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Error(err)
	}

	r.hangUp(read)
	if watcher.Receive() || connect.CodeOf(watcher.Err()) == connect.CodeDeadlineExceeded {
		t.Error("the client that is gone watches on")
	}
	if err := r.version(r.remote("watcher")); connect.CodeOf(err) != connect.CodeUnauthenticated || !client.Refused(err) {
		t.Error(err)
	}
	must(t, r.version(r.remote("new")))
	must(t, r.version(r.remote("controller")))

	text, err := os.ReadFile(r.file("config"))
	must(t, err)
	before, _, _ := strings.Cut(string(text), "[api]")
	must(t, os.WriteFile(r.file("config"), []byte(before), 0o600))
	r.hangUp("takes a restart")
	if controller.Receive() || connect.CodeOf(controller.Err()) == connect.CodeDeadlineExceeded {
		t.Error("a client watches on without [api]")
	}
	if err := r.version(r.remote("controller")); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Error(err)
	}
	dial(t, r.file("control.sock")).must(t, "xfrm policy add dst 10.9.0.0/16 dir out action block")
	for line := range strings.Lines(r.log.String()) {
		if strings.Contains(line, "PRIVATE KEY") || strings.Contains(line, "BEGIN") {
			t.Error(line)
		}
	}
}

// TestRemotePortTaken: while another program has the port, the daemon is there for this machine,
// and the log says so once. Then it listens.
func TestRemotePortTaken(t *testing.T) {
	if isRemoted() {
		return
	}
	r := newRemotes(t)
	other, err := net.Listen("tcp", r.address)
	must(t, err)
	defer other.Close()
	r.start()
	r.ready()
	dial(t, r.file("control.sock")).must(t, "xfrm policy add dst 10.9.0.0/16 dir out action block")
	const want = `msg="cannot listen for clients of other machines yet"`
	r.says(want, 1)
	time.Sleep(2 * listenAgain)
	if n := strings.Count(r.log.String(), want); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
	must(t, other.Close())
	r.says(`msg="the API for other machines"`, 1)
	must(t, r.version(r.remote("watcher")))
}

// TestRemoteAddressAbsent: at a boot the network may come later than the daemon, which is there for
// this machine, and ends when it is told to.
func TestRemoteAddressAbsent(t *testing.T) {
	if isRemoted() {
		return
	}
	for _, address := range []string{"192.0.2.77:4555", "[2001:db8::77]:4555", "[fe80::1%nowhere]:4555"} {
		r := newRemotes(t)
		r.address = address
		r.configure(`read = ["watcher"]`)
		r.start()
		r.ready()
		r.says(`msg="cannot listen for clients of other machines yet"`, 1)
		dial(t, r.file("control.sock")).must(t, "xfrm policy add dst 10.9.0.0/16 dir out action block")
		must(t, r.process.Process.Signal(syscall.SIGTERM))
		if err := <-r.ended; err != nil {
			t.Errorf("%s: %v\n%s", address, err, &r.log)
		}
	}
}

// TestRemoteOutOfTime: a daemon whose certificates are out of time, because the clock is not set,
// say, is there for this machine, and the log says why no client comes. SIGHUP takes no such
// certificate in the place of a valid one. One in trust does not keep SIGHUP from changing clients.
func TestRemoteOutOfTime(t *testing.T) {
	if isRemoted() {
		return
	}
	r := newRemotes(t)
	whole, err := os.ReadFile(r.file("box-a.pem"))
	must(t, err)
	key, err := os.ReadFile(r.file("box-a.key"))
	must(t, err)
	certtest.Write(t, r.dir, "box-a", -time.Minute)
	certtest.Write(t, r.dir, "old", -time.Minute)
	r.start()
	r.ready()
	r.says("box-a.pem expired on ", 1)
	dial(t, r.file("control.sock")).must(t, "xfrm policy add dst 10.9.0.0/16 dir out action block")

	must(t, os.WriteFile(r.file("box-a.pem"), whole, 0o600))
	must(t, os.WriteFile(r.file("box-a.key"), key, 0o600))
	trust, err := os.ReadFile(r.file("clients.pem"))
	must(t, err)
	old, err := os.ReadFile(r.file("old.pem"))
	must(t, err)
	must(t, os.WriteFile(r.file("clients.pem"), append(trust, old...), 0o600))
	r.configure(`change = ["controller"]`)
	r.hangUp("clients.pem expired on ")
	must(t, r.version(r.remote("controller")))
	if err := r.version(r.remote("watcher")); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Error(err)
	}

	certtest.Write(t, r.dir, "box-a", -time.Minute)
	r.hangUp(kept)
	must(t, r.version(r.remote("controller")))
}

// TestHangUpAtStart: SIGHUP does not end a daemon that starts.
func TestHangUpAtStart(t *testing.T) {
	if isRemoted() {
		return
	}
	reached, goOn := make(chan struct{}, 9), make(chan struct{})
	r := newRemotes(t, func(l net.Listener) net.Listener { return &held{l, reached, goOn} })
	r.start()
	<-reached // the daemon waits for the chips
	must(t, r.process.Process.Signal(syscall.SIGHUP))
	select {
	case err := <-r.ended:
		t.Fatal(err)
	case <-time.After(time.Second):
	}
	close(goOn)
	r.ready()
	r.says(`msg="the configuration was read again"`, 1)
}

// held is a listener that says that a connection is there, and keeps it waiting.
type held struct {
	net.Listener
	reached, goOn chan struct{}
}

func (h *held) Accept() (net.Conn, error) {
	conn, err := h.Listener.Accept()
	h.reached <- struct{}{}
	<-h.goOn
	return conn, err
}
