// SPDX-License-Identifier: Apache-2.0

package peer_test

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/peertest"
)

// dial opens a connection to a pair's port that has no certificate; it is closed at the test's end.
func dial(t *testing.T, address netip.AddrPort) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// closed says whether the far end closes a connection in time.
func closed(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, conn)
	var timeout net.Error
	return !(errors.As(err, &timeout) && timeout.Timeout())
}

// TestFlood: connections that say nothing, say nonsense, or stop within the handshake, keep the
// other box neither from asking again nor from a first question, and are closed.
func TestFlood(t *testing.T) {
	a, b := peertest.Pair(t)
	address, _ := serve(t, b, nil)
	before := client(t, address, a)
	ask := func(c *peer.Client) {
		t.Helper()
		if _, err := c.Status(within(t, patience)); err != nil {
			t.Error(err)
		}
	}
	ask(before)
	garbage := make([]byte, 1<<16)
	_, _ = rand.Read(garbage)
	var flood []net.Conn
	for n := range 300 {
		conn := dial(t, address)
		switch n % 3 {
		case 1:
			_, _ = conn.Write(garbage)
		case 2:
			_, _ = conn.Write([]byte{22, 3, 1, 0x40}) // the head of a record of a handshake
		}
		flood = append(flood, conn)
		ask(before)
		if n%100 == 0 {
			ask(client(t, address, a))
		}
	}
	for n, conn := range flood {
		if !closed(conn) {
			t.Fatalf("connection %d stays open", n)
		}
	}
	ask(client(t, address, a))
}

// TestSlow: a handshake that comes byte by byte ends at its deadline.
func TestSlow(t *testing.T) {
	_, b := peertest.Pair(t)
	address, _ := serve(t, b, func(s *peer.Server) { s.Timeout = 200 * time.Millisecond })
	conn := dial(t, address)
	begin := time.Now()
	for {
		if _, err := conn.Write([]byte{22}); err != nil {
			break
		}
		if time.Since(begin) > patience {
			t.Fatal("the connection lasts")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestReflection: an attacker passes a box's requests to its own port and the answers back. The box
// does not take itself for the other one.
func TestReflection(t *testing.T) {
	a, _ := peertest.Pair(t)
	address, _ := serve(t, a, nil)
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	go func() {
		for {
			conn, err := relay.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", address.String())
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(back, conn); back.Close() }()
			go func() { _, _ = io.Copy(conn, back); conn.Close() }()
		}
	}()
	c := client(t, netip.MustParseAddrPort(relay.Addr().String()), a)
	if _, err := c.Status(within(t, patience)); err == nil {
		t.Error("it heard itself")
	}
	// Nor does an echo of its own bytes pass for an answer.
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
		}
	}()
	c = client(t, netip.MustParseAddrPort(echo.Addr().String()), a)
	if _, err := c.Status(within(t, patience)); err == nil {
		t.Error("it heard an echo")
	}
}

// TestOldTLS: versions before 1.3 are refused.
func TestOldTLS(t *testing.T) {
	_, b := peertest.Pair(t)
	address, _ := serve(t, b, nil)
	conn, err := tls.Dial("tcp", address.String(), &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	if err == nil {
		conn.Close()
		t.Error("TLS 1.2 is spoken")
	}
}
