// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// dial opens a connection without TLS; it is closed at the test's end.
func (n *networked) dial() net.Conn {
	n.Helper()
	conn, err := net.Dial("tcp", n.address)
	n.must(err)
	n.Cleanup(func() { conn.Close() })
	return conn
}

// ends waits for the far end to close a connection.
func (n *networked) ends(what string, conn net.Conn) {
	n.Helper()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	if timeout, is := err.(net.Error); is && timeout.Timeout() {
		n.Errorf("%s: the connection stays open", what)
	}
}

// TestNetworkFlood: connections that say nothing, nonsense, or half a handshake end, and keep
// neither clients of this machine nor those of the network out.
func TestNetworkFlood(t *testing.T) {
	n := newNetworked(t, func(s *Server) { s.handshakeTimeout = time.Second })
	before := n.remote("controller")
	n.must(version(t, before))
	garbage := make([]byte, 1<<16)
	_, _ = rand.Read(garbage)
	var flood []net.Conn
	for i := range 300 {
		conn := n.dial()
		switch i % 3 {
		case 1:
			_, _ = conn.Write(garbage)
		case 2:
			_, _ = conn.Write([]byte{22, 3, 1, 0x40}) // the head of a record of a handshake
		}
		flood = append(flood, conn)
		n.must(version(t, before))
		if i%100 == 0 {
			n.must(version(t, n.remote("second")))
			n.must(version(t, n.client(n.path)))
		}
	}
	for i, conn := range flood {
		n.ends(fmt.Sprint(i), conn)
	}
	n.must(version(t, n.remote("second")))
}

// TestLongRefusal: a stranger that is refused for a long reason of its own making cannot fill the
// log.
func TestLongRefusal(t *testing.T) {
	n := newNetworked(t)
	config := n.config("controller")
	for range 250 {
		config.NextProtos = append(config.NextProtos, strings.Repeat("\x01\n\x1b", 85))
	}
	if conn, err := tls.Dial("tcp", n.address, config); err == nil {
		conn.Close()
		t.Error("it is let in")
	}
	n.until("it is refused", func() bool { return strings.Contains(n.log.String(), "unsupported application protocols") })
	for line := range strings.Lines(n.log.String()) {
		if len(line) > 1000 || strings.ContainsAny(line, "\x01\x1b") {
			t.Errorf("a line of %d bytes: %.200s", len(line), line)
		}
	}
}

// TestSlowHandshake: one that comes byte by byte ends at its deadline.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	n := newNetworked(t, func(s *Server) { s.handshakeTimeout = 300 * time.Millisecond })
	conn := n.dial()
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if _, err := conn.Write([]byte{22}); err != nil {
			return
		}
	}
	t.Error("the connection lasts")
}

// TestHalfRequests: behind its handshake too, a client that does not go on loses its connection.
func TestHalfRequests(t *testing.T) {
	t.Parallel()
	n := newNetworked(t, impatient)
	for name, begin := range map[string]string{
		"half of a head":  "POST /sallyport.v1.BoxService/GetVersion HTTP/1.1\r\nHost: localh",
		"no body":         "POST /sallyport.v1.BoxService/Batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"half a preface":  "PRI * HTTP/2.0\r\n",
		"a wrong preface": "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
	} {
		conn, err := tls.Dial("tcp", n.address, n.config("watcher"))
		n.must(err)
		_, err = io.WriteString(conn, begin)
		n.must(err)
		n.ends(name, conn)
		conn.Close()
	}
	n.must(version(t, n.remote("watcher")))
}

// TestOneRemoteClientTooMany: a client of the network has so many places at most; the next
// connections are told so, and others end. Other clients are served, those of this machine too when
// the network has all its places.
func TestOneRemoteClientTooMany(t *testing.T) {
	t.Parallel()
	n := newNetworked(t)
	crowd := func(name string, most int) (last *client.Client) {
		for range most {
			last = n.remote(name)
			n.must(version(t, last))
		}
		return last
	}
	served := crowd("watcher", mostOfOne)
	for range mostOfOneRefused {
		if err := version(t, n.remote("watcher")); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Error(err)
		}
	}
	for _, name := range []string{"controller", "second"} {
		n.must(version(t, crowd(name, mostOfOne)))
	}
	// The server may still have connections that it has refused, so how many fit is not known.
	var conns []net.Conn
	n.until("one more is cut off", func() bool {
		conn, err := tls.Dial("tcp", n.address, n.config("watcher"))
		n.must(err)
		conns = append(conns, conn)
		_ = conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		_, err = conn.Read(make([]byte, 1))
		return err == io.EOF
	})
	// Some are told late; the places of all clients would take twice as many.
	if len(conns) > mostOfOne {
		t.Errorf("%d more connections were taken", len(conns))
	}
	for range mostClients - 1 { // the rig has one
		n.must(version(t, n.client(n.path)))
	}
	served.Close()
	for _, conn := range conns {
		conn.Close()
	}
	n.until("the place that is left is taken", func() bool { return version(t, n.remote("watcher")) == nil })
}

// TestNetworkFull: with all places of the network taken another client is told so, and clients of
// this machine are served.
func TestNetworkFull(t *testing.T) {
	n := newNetworked(t)
	names := []string{"controller", "second", "watcher", "fourth", "fifth"}
	for _, name := range names[3:] {
		n.authority.Sign(t, n.folder, name)
	}
	n.network.Store(n.access(names, nil))
	for _, name := range names[:4] {
		for range mostOfOne {
			n.must(version(t, n.remote(name)))
		}
	}
	if err := version(t, n.remote("fifth")); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Error(err)
	}
	n.must(version(t, n.client(n.path)))
}

// TestEndWithRemoteClients: the daemon does not wait for clients of the network that watch, say
// nothing or stop in mid-request, and tells the first.
func TestEndWithRemoteClients(t *testing.T) {
	t.Parallel()
	n := newNetworked(t)
	stream, err := n.remote("watcher").Watch(t.Context(), &sallyportv1.WatchRequest{})
	n.must(err)
	defer stream.Close()
	for _, said := range []string{"", "POST /sallyport.v1.BoxService/List HTTP/1.1\r\nHost: x\r\n"} {
		conn, err := tls.Dial("tcp", n.address, n.config("second"))
		n.must(err)
		defer conn.Close()
		_, err = io.WriteString(conn, said)
		n.must(err)
	}
	n.dial()
	n.must(version(t, n.remote("controller")))
	stops(t, n.stop)
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
		t.Errorf("who watches is told %v", stream.Err())
	}
}
