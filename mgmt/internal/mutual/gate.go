// SPDX-License-Identifier: Apache-2.0

package mutual

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// logAgain is how often one of many connections that are refused is logged.
const logAgain = 10 * time.Second

// mostReason is how much of a reason is logged, in characters.
const mostReason = 300

// linger and mostLinger bound the reading behind a refusal: a client that still sends would
// otherwise lose the alert that tells it why.
const (
	linger     = time.Second
	mostLinger = 64 << 10 // bytes
)

// Rules are those of a gate.
type Rules struct {
	// From refuses an address before any handshake, in a sentence; nil: none is refused.
	From func(netip.Addr) error
	// Config is the one of now, for the next handshake.
	Config func() *tls.Config
	// Timeout is that of a handshake; Most and MostOfOne are as in Places, of handshakes under way.
	Timeout         time.Duration
	Most, MostOfOne int
	Log             *slog.Logger
	Port            string // what the log calls it
}

// Gate is a listener of connections whose far end has shown a certificate that counts.
type Gate struct {
	net.Listener
	rules     Rules
	seldom    rate.Sometimes
	strangers Places
	passed    chan *Conn
	ctx       context.Context
	closed    context.Context // no connection comes any more
}

// Conn is a connection whose handshake is done.
type Conn struct {
	*tls.Conn
	stay func() bool
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.stay()
	return c.Conn.Close()
}

// NewGate makes a gate and has it accept until the listener is closed. The end of ctx ends its
// connections.
func NewGate(ctx context.Context, inner net.Listener, rules Rules) *Gate {
	closed, end := context.WithCancel(ctx)
	g := &Gate{
		Listener: inner, rules: rules, seldom: rate.Sometimes{First: 1, Interval: logAgain},
		strangers: Places{Most: rules.Most, MostOfOne: rules.MostOfOne}, passed: make(chan *Conn), ctx: ctx, closed: closed,
	}
	go g.accept(end)
	return g
}

func (g *Gate) accept(end func()) {
	defer end()
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return // closed
		}
		from := AddressOf(conn)
		if g.rules.From != nil {
			if err := g.rules.From(from); err != nil {
				g.refuse(conn, err)
				conn.Close()
				continue
			}
		}
		g.strangers.Take(conn, from)
		go g.greet(conn)
	}
}

// AddressOf is the address of a connection's far end.
func AddressOf(conn net.Conn) netip.Addr {
	from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	return from.Addr().Unmap()
}

// greet takes the handshake of a connection, and hands it on if its certificate counts. The end of
// the gate ends the connection, also where the server takes it at that moment and forgets it.
func (g *Gate) greet(conn net.Conn) {
	stay := context.AfterFunc(g.ctx, func() { conn.Close() })
	config := g.rules.Config()
	secured := tls.Server(conn, config)
	_ = conn.SetDeadline(time.Now().Add(g.rules.Timeout))
	if err := secured.HandshakeContext(g.ctx); err != nil {
		g.refuse(conn, Sentence(err, config.Time()))
		sendOff(conn)
		stay()
		g.strangers.Leave(conn)
		return
	}
	g.strangers.Leave(conn)
	_ = conn.SetDeadline(time.Time{})
	held := &Conn{secured, stay}
	select {
	case g.passed <- held:
	case <-g.closed.Done():
		held.Close()
	}
}

// sendOff closes a connection so that its far end can read the alert before.
func sendOff(conn net.Conn) {
	defer conn.Close()
	half, ok := conn.(*net.TCPConn)
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(linger))
	_, _ = io.CopyN(io.Discard, conn, mostLinger)
}

// refuse says in the log why a connection is closed. The reason may have words of the far end.
func (g *Gate) refuse(conn net.Conn, why error) {
	if errors.Is(why, net.ErrClosed) {
		why = errors.New("newer connections took its place before its handshake was done")
	}
	g.seldom.Do(func() {
		g.rules.Log.Warn("a connection to "+g.rules.Port+" was refused", "from", conn.RemoteAddr().String(), "error", fmt.Sprintf("%.*s", mostReason, why))
	})
}

// Accept waits for a connection, a *Conn.
func (g *Gate) Accept() (net.Conn, error) {
	select {
	case conn := <-g.passed:
		return conn, nil
	case <-g.closed.Done():
		return nil, net.ErrClosed
	}
}
