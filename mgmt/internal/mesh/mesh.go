// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"sallyport/mgmt/internal/mutual"
)

// Connections have places: mostStrangers while their handshake lasts, mostKnown behind it. One
// node has mostOfOne of these.
const (
	mostStrangers     = 256
	mostStrangersHost = 64
	mostKnown         = 2048
	mostOfOne         = 24
)

// Rules are those of a mesh.
type Rules struct {
	// Identity is the one of now, for the next handshake.
	Identity func() *mutual.Identity
	// Hello is what this node says of itself now.
	Hello func() Hello
	// Admits says why another node is refused, beside its certificate and version.
	Admits func(Hello) error
	// Answer answers a question of another node.
	Answer Answer
	// Timeout is that of a handshake, with the hello behind it.
	Timeout time.Duration
	Log     *slog.Logger
	// Dial opens a connection; nil: by TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Mesh is a node's connections with the others.
type Mesh struct {
	rules   Rules
	gate    *mutual.Gate
	ctx     context.Context
	known   mutual.Places
	arrived map[Purpose]chan net.Conn
	said    said

	mu   sync.Mutex
	idle map[string][]*Conn // of calls, by address
}

// Conn is a connection behind the hellos of both ends.
type Conn struct {
	net.Conn
	Other Hello
	once  sync.Once
	leave func()
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

// New makes the mesh of a node and has it accept until ctx ends, or the listener is closed.
func New(ctx context.Context, listener net.Listener, rules Rules) *Mesh {
	m := &Mesh{rules: rules, ctx: ctx, known: mutual.Places{Most: mostKnown, MostOfOne: mostOfOne}, idle: map[string][]*Conn{}}
	m.said = said{log: rules.Log, last: map[string]time.Time{}}
	m.arrived = map[Purpose]chan net.Conn{Packets: make(chan net.Conn), Streams: make(chan net.Conn), Raft: make(chan net.Conn)}
	m.gate = mutual.NewGate(ctx, listener, mutual.Rules{
		Config: func() *tls.Config { return config(rules.Identity()) }, Timeout: rules.Timeout, Most: mostStrangers, MostOfOne: mostStrangersHost,
		Log: rules.Log, Port: "the cluster's port",
	})
	context.AfterFunc(ctx, func() { listener.Close() })
	go m.accept()
	return m
}

// Arrived are the accepted connections of a purpose other than calls.
func (m *Mesh) Arrived(p Purpose) <-chan net.Conn { return m.arrived[p] }

func (m *Mesh) accept() {
	for {
		conn, err := m.gate.Accept()
		if err != nil {
			return // closed
		}
		go m.greet(conn.(*mutual.Conn))
	}
}

// greet takes the hello of a connection, and hands the connection on.
func (m *Mesh) greet(conn *mutual.Conn) {
	_ = conn.SetDeadline(time.Now().Add(m.rules.Timeout))
	var other Hello
	if err := readJSON(conn, mostHello, &other); err != nil {
		m.said.warn("a connection to the cluster's port was refused", conn.RemoteAddr().String(), err)
		conn.Close()
		return
	}
	other.clean()
	own := m.rules.Hello()
	own.Purpose = other.Purpose
	refused := m.judge(conn.ConnectionState(), own, other)
	if refused != nil {
		own.Refused = refused.Error()
	}
	if err := writeJSON(conn, mostHello, own); err != nil || refused != nil {
		if refused != nil && !IsSelf(refused) {
			m.said.warn("a node was refused", other.Name, refused)
		}
		conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	c := m.hold(conn, other)
	if other.Purpose == Calls {
		m.answer(c)
		return
	}
	select {
	case m.arrived[other.Purpose] <- c:
	case <-m.ctx.Done():
		c.Close()
	}
}

// hold gives a connection a place among those of its node.
func (m *Mesh) hold(conn net.Conn, other Hello) *Conn {
	c := &Conn{Conn: conn, Other: other}
	from := netip.AddrFrom4([4]byte{byte(other.Slot >> 8), byte(other.Slot)})
	stay := context.AfterFunc(m.ctx, func() { conn.Close() })
	m.known.Take(conn, from)
	c.leave = func() { stay(); m.known.Leave(conn) }
	return c
}

// Dial opens a connection to a node.
func (m *Mesh) Dial(ctx context.Context, address string, purpose Purpose) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, m.rules.Timeout)
	defer cancel()
	identity := m.rules.Identity()
	conn, err := m.connect(ctx, address, identity)
	if err != nil {
		return nil, sentence(address, err, identity)
	}
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end)
	own := m.rules.Hello()
	own.Purpose = purpose
	var other Hello
	if err = writeJSON(conn, mostHello, own); err == nil {
		err = readJSON(conn, mostHello, &other)
	}
	if err != nil {
		conn.Close()
		return nil, sentence(address, err, identity)
	}
	other.clean()
	other.Purpose = purpose
	if other.Refused != "" && other.ID != own.ID {
		conn.Close()
		return nil, &Refusal{other.Name + " (" + address + ")", other.Refused}
	}
	if err := m.judge(conn.ConnectionState(), own, other); err != nil {
		conn.Close()
		if !IsSelf(err) {
			m.said.warn("a node was refused", other.Name, err)
		}
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return m.hold(conn, other), nil
}

func (m *Mesh) connect(ctx context.Context, address string, identity *mutual.Identity) (*tls.Conn, error) {
	dial := m.rules.Dial
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, config(identity))
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// CloseIdle ends connections that wait for the next question; those that come after a change of
// certificates are new.
func (m *Mesh) CloseIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, list := range m.idle {
		for _, c := range list {
			c.Close()
		}
	}
	clear(m.idle)
}

// Warn logs a sentence, and the same again only after a while.
func (m *Mesh) Warn(message, node string, why error) { m.said.warn(message, node, why) }

// errBusy is of a node that has more connections than it may.
var errBusy = errors.New("too many addresses are in use")
