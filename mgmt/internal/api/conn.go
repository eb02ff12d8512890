// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"sallyport/mgmt/internal/daemon"
)

// mostClients are served at once, as many as at the control socket. As many as mostRefused more are
// told that they are too many, and others are cut off.
const (
	mostClients = 64
	mostRefused = 16
)

// party is the other end of a connection.
type party struct {
	caller  daemon.Caller
	crowded bool // it is one too many
}

// partyKey and deadlines are keys of contexts: the client, and the deadlines of its request.
type (
	partyKey  struct{}
	deadlines struct{}
)

// partyOf is the client of a request. Without one it panics: no caller would be the daemon itself.
func partyOf(ctx context.Context) party { return ctx.Value(partyKey{}).(party) }

// withParty notes who is at the other end of a connection that comes from limited.
func withParty(ctx context.Context, conn net.Conn, reads bool) context.Context {
	place := conn.(*placed)
	c := party{caller: daemon.CallerOf(place.Conn), crowded: place.crowded}
	if reads {
		c.caller = c.caller.Reading()
	}
	return context.WithValue(ctx, partyKey{}, c)
}

// begun says that a request is here: its method may take as long as it takes.
func begun(ctx context.Context) {
	if control, ok := ctx.Value(deadlines{}).(*http.ResponseController); ok {
		_ = control.SetReadDeadline(time.Time{})
	}
}

// bounded is an answer whose client must read each part in time. Between parts there is no bound:
// HTTP/2 would end a stream that has nothing to send.
type bounded struct {
	http.ResponseWriter
	control *http.ResponseController
	most    time.Duration
}

func (b *bounded) Write(part []byte) (int, error) {
	b.begin()
	defer b.control.SetWriteDeadline(time.Time{})
	return b.ResponseWriter.Write(part)
}

// Flush sends the parts written so far.
func (b *bounded) Flush() {
	b.begin()
	defer b.control.SetWriteDeadline(time.Time{})
	_ = b.control.Flush()
}

// begin bounds the sending of the next part, or of the rest at the end of an answer.
func (b *bounded) begin() { _ = b.control.SetWriteDeadline(time.Now().Add(b.most)) }

// Unwrap gives http.ResponseController the answer below.
func (b *bounded) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// places is a listener that counts its clients.
type places struct {
	net.Listener
	log  *slog.Logger
	mu   sync.Mutex
	used int
}

// limited bounds the clients of a listener.
func limited(listener net.Listener, log *slog.Logger) net.Listener {
	return &places{Listener: listener, log: log}
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	crowded bool
	leave   func()
}

func (p *places) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if place := p.take(conn); place != nil {
			return place, nil
		}
		conn.Close()
	}
}

// take gives a connection a place; none where there is not even one to say so.
func (p *places) take(conn net.Conn) *placed {
	p.mu.Lock()
	defer p.mu.Unlock()
	crowded := p.used >= mostClients
	if crowded {
		p.log.Warn("too many clients of the API", "most", mostClients)
	}
	if p.used >= mostClients+mostRefused {
		return nil
	}
	p.used++
	return &placed{conn, crowded, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used--
	})}
}

// Close gives the place back.
func (p *placed) Close() error {
	p.leave()
	return p.Conn.Close()
}
