// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net"
	"net/http"
	"time"

	"sallyport/mgmt/internal/caller"
)

// mostClients are served at once by each listener, as many as at the control socket. As many as
// mostRefused more are told that they are too many, and others are cut off. Of one client of the
// network these are mostOfOne and mostOfOneRefused.
const (
	mostClients      = 64
	mostRefused      = 16
	mostOfOne        = 16
	mostOfOneRefused = 4
)

// logAgain is how often one of many clients that are too many is logged.
const logAgain = 10 * time.Second

// party is the other end of a connection.
type party struct {
	caller  caller.Caller
	crowded bool // it is one too many
	turns   turns
}

// partyKey and deadlines are keys of contexts: the client, and the deadlines of its request.
type (
	partyKey  struct{}
	deadlines struct{}
)

// partyOf is the client of a request. Without one it panics: no caller would be the daemon itself.
func partyOf(ctx context.Context) party { return ctx.Value(partyKey{}).(party) }

// withParty notes who is at the other end of a connection that comes from limited.
func withParty(ctx context.Context, conn net.Conn) context.Context {
	place := conn.(*placed)
	return context.WithValue(ctx, partyKey{}, party{place.caller, place.crowded, place.turns})
}

// localCaller is the process at the other end of a Unix socket.
func localCaller(reads bool) func(net.Conn) caller.Caller {
	return func(conn net.Conn) caller.Caller {
		if reads {
			return caller.Of(conn).Reading()
		}
		return caller.Of(conn)
	}
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
