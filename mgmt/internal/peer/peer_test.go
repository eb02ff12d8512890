// SPDX-License-Identifier: Apache-2.0

package peer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/peertest"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

const patience = 10 * time.Second

var loopback = netip.MustParseAddr("127.0.0.1")

// serve has a box answer as `change` says, until the test ends.
func serve(t *testing.T, identity *peer.Identity, change func(*peer.Server)) (address netip.AddrPort, out *testbox.Log) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out = &testbox.Log{}
	s := &peer.Server{
		Other: loopback, Identity: func() *peer.Identity { return identity }, Timeout: time.Second, Log: slog.New(slog.NewTextHandler(out, nil)),
		Status:  func() peer.Status { return peer.Status{Side: peer.SideB} },
		Numbers: func() peer.Numbers { return peer.Numbers{} },
		Yield:   func() error { return nil },
		Claim:   func() error { return errors.New("this box is active") },
	}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return netip.MustParseAddrPort(listener.Addr().String()), out
}

func client(t *testing.T, address netip.AddrPort, identity *peer.Identity) *peer.Client {
	t.Helper()
	c := peer.NewClient(address, loopback, func() *peer.Identity { return identity })
	t.Cleanup(c.Close)
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestAnswers: what one says is what the other hears.
func TestAnswers(t *testing.T) {
	a, b := peertest.Pair(t)
	id := xfrm.ID{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("2001:db8::1"), Proto: "esp", SPI: 7}
	said := peer.Status{Side: peer.SideB, Active: true, Yields: true, Problems: []string{"no cable"}}
	numbers := []peer.Number{{ID: id, Dir: xfrm.DirOut, Number: 1<<63 - 1}}
	address, _ := serve(t, b, func(s *peer.Server) {
		s.Status = func() peer.Status { return said }
		s.Numbers = func() peer.Numbers { return peer.Numbers{Age: time.Hour, Numbers: numbers} }
	})
	c := client(t, address, a)
	for range 3 {
		if heard, err := c.Status(within(t, patience)); err != nil || !reflect.DeepEqual(heard, said) {
			t.Errorf("heard %+v, %v", heard, err)
		}
	}
	asked := time.Now()
	heard, since, err := c.Numbers(within(t, patience))
	if early := asked.Sub(since); err != nil || !reflect.DeepEqual(heard, numbers) || early > time.Hour || early < time.Hour-patience {
		t.Errorf("heard %+v of %v before, %v", heard, early, err)
	}
	if err := c.Yield(within(t, patience)); err != nil {
		t.Error(err)
	}
	if err := c.Claim(within(t, patience)); err == nil || err.Error() != "this box is active" {
		t.Errorf("claimed: %v", err)
	}
}

// TestStrangers: a box answers the other alone, and each side says in a sentence why it refuses a
// certificate.
func TestStrangers(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"box-a", "box-b", "stranger"} {
		certtest.Write(t, folder, name, time.Hour)
	}
	// Another key under the name of a box.
	certtest.Write(t, filepath.Join(folder), "forger", time.Hour)
	identity := func(own, other, name string) *peer.Identity { return peertest.Identity(t, folder, own, other, name) }
	b := identity("box-b", "box-a", "box-a")
	for name, c := range map[string]struct {
		a               *peer.Identity
		said, otherSaid string
	}{
		"not known to b": {identity("stranger", "box-b", "box-b"), "refuses this box's certificate", "is not one that the file of trust has or has signed"},
		"not known to a": {identity("box-a", "stranger", "stranger"), "its certificate is not one that the file of trust has", "tls: bad certificate"},
		"wrong name":     {identity("box-a", "box-b", "box-c"), `its certificate has the names ["box-b"] and not "box-c"`, "tls: bad certificate"},
	} {
		address, out := serve(t, b, nil)
		_, err := client(t, address, c.a).Status(within(t, patience))
		if err == nil || !strings.Contains(err.Error(), c.said) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.said)
		}
		waitForLog(t, out, c.otherSaid)
	}
}

// waitForLog waits for what a server logs: it may do so when its client knows already.
func waitForLog(t *testing.T, out *testbox.Log, want string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(out.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("the log is %q, want %q", out, want)
			return
		}
	}
}

// TestElsewhere: what does not come from the other box's address is closed at once.
func TestElsewhere(t *testing.T) {
	a, b := peertest.Pair(t)
	address, out := serve(t, b, func(s *peer.Server) { s.Other = netip.MustParseAddr("127.0.0.2") })
	if _, err := client(t, address, a).Status(within(t, patience)); err == nil {
		t.Error("answered")
	}
	waitForLog(t, out, "it does not come from the other box's address")
	c := peer.NewClient(address, netip.MustParseAddr("127.0.0.2"), func() *peer.Identity { return a })
	defer c.Close()
	if _, err := c.Status(within(t, patience)); err != nil {
		t.Error(err)
	}
}

// TestIVMask: no number of one side gives an IV of the other.
func TestIVMask(t *testing.T) {
	for _, number := range []uint64{0, 1, xfrm.MaxNumber} {
		if a, b := number^peer.SideA.IVMask(), number^peer.SideB.IVMask(); a>>63 != 0 || b>>63 != 1 {
			t.Errorf("%d: %x, %x", number, a, b)
		}
	}
}

// TestGateEnds: the end of the gate also ends a connection that it has handed on to another holder.
func TestGateEnds(t *testing.T) {
	own, other := peertest.Pair(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, end := context.WithCancel(t.Context())
	g := peer.NewGate(ctx, listener, loopback, func() *peer.Identity { return own }, patience, slog.New(slog.DiscardHandler))
	go func() {
		conn, err := tls.Dial("tcp", listener.Addr().String(), other.TLS())
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
		}
	}()
	conn, err := g.Accept()
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() { _, err := conn.Read(make([]byte, 1)); read <- err }()
	end()
	select {
	case err := <-read:
		if err == nil {
			t.Error("something was read")
		}
	case <-time.After(patience):
		t.Error("the connection outlives the gate")
	}
}
