// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Connections have places: mostStrangers while their handshake lasts, mostKnown of the other box
// behind it. A new connection takes the place of the oldest, so that those that say nothing keep
// the other box out for no longer than its next attempt.
const (
	mostStrangers = 16
	mostKnown     = 8
)

// logAgain is how often one of many connections that are refused is logged.
const logAgain = 10 * time.Second

// places are those of connections of one kind: a ring.
type places struct {
	mu    sync.Mutex
	conns []net.Conn
	next  int
}

// take gives a connection a place and closes the one that had it longest.
func (p *places) take(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.conns[p.next]; before != nil {
		before.Close()
	}
	p.conns[p.next] = conn
	p.next = (p.next + 1) % len(p.conns)
}

// leave frees the place of a connection, if it still has it.
func (p *places) leave(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.conns {
		if other == conn {
			p.conns[i] = nil
		}
	}
}

// gate is a listener of connections whose far end has shown that it is the other box.
type gate struct {
	net.Listener
	other    netip.Addr // whose connections are taken at all
	identity func() *Identity
	timeout  time.Duration // of a handshake
	log      *slog.Logger
	seldom   rate.Sometimes

	strangers, known places
	passed           chan net.Conn
	ctx              context.Context
}

// newGate makes the gate and has it accept until ctx ends.
func newGate(ctx context.Context, inner net.Listener, other netip.Addr, identity func() *Identity, timeout time.Duration, log *slog.Logger) *gate {
	g := &gate{
		Listener: inner, other: other.Unmap(), identity: identity, timeout: timeout, log: log, seldom: rate.Sometimes{First: 1, Interval: logAgain},
		strangers: places{conns: make([]net.Conn, mostStrangers)}, known: places{conns: make([]net.Conn, mostKnown)},
		passed: make(chan net.Conn), ctx: ctx,
	}
	go g.accept()
	return g
}

func (g *gate) accept() {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return // closed
		}
		if from, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err != nil || from.Addr().Unmap().WithZone("") != g.other.WithZone("") {
			g.refuse(conn, "it does not come from the other box's address")
			continue
		}
		g.strangers.take(conn)
		go g.greet(conn)
	}
}

// greet takes the handshake of a connection, and hands it on if it is the other box's. The end of
// the gate ends the connection, also where the server takes it at that moment and forgets it.
func (g *gate) greet(conn net.Conn) {
	stay := context.AfterFunc(g.ctx, func() { conn.Close() })
	secured := tls.Server(conn, g.identity().config())
	_ = conn.SetDeadline(time.Now().Add(g.timeout))
	err := secured.HandshakeContext(g.ctx)
	g.strangers.leave(conn)
	if err != nil {
		stay()
		g.refuse(conn, err.Error())
		return
	}
	_ = conn.SetDeadline(time.Time{})
	held := &heldConn{Conn: secured, leave: func() { stay(); g.known.leave(conn) }}
	g.known.take(conn)
	select {
	case g.passed <- held:
	case <-g.ctx.Done():
		held.Close()
	}
}

func (g *gate) refuse(conn net.Conn, why string) {
	conn.Close()
	g.seldom.Do(func() {
		g.log.Warn("a connection to the pair's port was refused", "from", conn.RemoteAddr().String(), "error", why)
	})
}

// Accept waits for the other box.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case conn := <-g.passed:
		return conn, nil
	case <-g.ctx.Done():
		return nil, net.ErrClosed
	}
}

// heldConn frees its place when it is closed.
type heldConn struct {
	net.Conn
	leave func()
}

// Close ends the connection.
func (c *heldConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
