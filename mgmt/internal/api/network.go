// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/mutual"
)

// Handshakes under way have places of their own, of one address and in all.
const (
	mostHandshakes      = 64
	mostHandshakesOfOne = 16
)

// Network is who may use the API over the network, and who does.
type Network struct {
	access atomic.Pointer[mutual.Access]
	mu     sync.Mutex
	open   map[*entered]struct{}
}

// entered is a connection of a client that is known.
type entered struct {
	*mutual.Conn
	client  string
	changes bool
	leave   func()
}

// NewNetwork begins with an access.
func NewNetwork(access *mutual.Access) *Network {
	n := &Network{open: map[*entered]struct{}{}}
	n.access.Store(access)
	return n
}

// Store changes the access. Connections of clients whose right is not as it was are ended; others
// go on.
func (n *Network) Store(access *mutual.Access) {
	n.access.Store(access)
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn := range n.open {
		client, changes, err := access.Still(conn.ConnectionState().PeerCertificates)
		if err != nil || client != conn.client || changes != conn.changes {
			conn.end()
		}
	}
}

// gate listens for clients; the end of ctx ends their connections.
func (n *Network) gate(ctx context.Context, listener net.Listener, timeout time.Duration, log *slog.Logger) net.Listener {
	rules := mutual.Rules{
		Config: func() *tls.Config { return n.access.Load().TLS() }, Timeout: timeout,
		Most: mostHandshakes, MostOfOne: mostHandshakesOfOne, Log: log, Port: "the API's port",
	}
	return &networkGate{n, mutual.NewGate(ctx, listener, rules)}
}

// networkGate is the listener of clients that are known.
type networkGate struct {
	*Network
	*mutual.Gate
}

// Accept waits for a client.
func (g *networkGate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Gate.Accept()
		if err != nil {
			return nil, err
		}
		if known := g.enter(conn.(*mutual.Conn)); known != nil {
			return known, nil
		}
		conn.Close()
	}
}

// enter notes a connection, by the access of now: it may have changed since the handshake. The
// connection ends with its client's certificate.
func (n *Network) enter(conn *mutual.Conn) *entered {
	n.mu.Lock()
	defer n.mu.Unlock()
	access, shown := n.access.Load(), conn.ConnectionState().PeerCertificates
	client, changes, err := access.Still(shown)
	if err != nil {
		return nil
	}
	c := &entered{Conn: conn, client: client, changes: changes}
	expired := time.AfterFunc(access.Left(shown[0]), c.end)
	c.leave = func() {
		expired.Stop()
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, c)
	}
	n.open[c] = struct{}{}
	return c
}

// callerOf is the client of a connection; not Known if there is none.
func (n *Network) callerOf(conn net.Conn) caller.Caller {
	c, ok := conn.(*entered)
	if !ok {
		return caller.Caller{}
	}
	caller := caller.Remote(c.client, c.RemoteAddr().String())
	if !c.changes {
		return caller.Reading()
	}
	return caller
}

// end ends the connection from outside of its server.
func (c *entered) end() { c.NetConn().Close() }

// Close ends the connection.
func (c *entered) Close() error {
	c.leave()
	return c.Conn.Close()
}
