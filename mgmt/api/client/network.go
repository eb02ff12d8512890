// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
)

// Of a daemon at the other end of a network: how long it may take to answer a connection, and its
// TLS; and after how long without a word it is asked whether it is still there, and may take to
// answer that.
const (
	connectTimeout = 10 * time.Second
	askAfter       = 30 * time.Second
	answerWithin   = 10 * time.Second
)

// DialTLS makes a client of the daemon that listens at HOST:PORT (`listen` of `[api]` in its
// configuration). config has the client's certificate and the roots of the daemon's; ServerName is
// the name in that, if it is not HOST. The client speaks TLS 1.3 alone. It connects with the first
// request.
//
// Errors of the connection have the code `unavailable`. Those of a certificate, of either end, have
// `unauthenticated`.
func DialTLS(address string, config *tls.Config) *Client {
	config = config.Clone()
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{"h2"}
	if shown := config.Certificates; len(shown) > 0 && config.GetClientCertificate == nil {
		// One that no authority of the daemon signed is shown too, so that the daemon says so.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown[0], nil }
	}
	n := &network{address: address, dialer: &tls.Dialer{NetDialer: &net.Dialer{Timeout: connectTimeout}, Config: config}}
	t := &http.Transport{
		Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{SendPingTimeout: askAfter, PingTimeout: answerWithin},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx) },
	}
	t.Protocols.SetUnencryptedHTTP2(true) // of net/http: the TLS is not its own
	n.transport = t
	return over(t, n, "https://sallyportd")
}

// network is the way to one daemon. It says in a sentence why it failed.
type network struct {
	transport http.RoundTripper
	dialer    *tls.Dialer
	address   string
	alert     atomic.Pointer[net.OpError] // of the last connection
}

// dial makes a connection.
func (n *network) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	n.alert.Store(nil)
	conn, err := n.dialer.DialContext(ctx, "tcp", n.address)
	if err != nil {
		return nil, err
	}
	secured := conn.(*tls.Conn)
	if secured.ConnectionState().NegotiatedProtocol != "h2" {
		secured.Close()
		return nil, errors.New("it does not speak HTTP/2, so it is no sallyportd")
	}
	return &listening{secured, n}, nil
}

// listening is a connection that keeps the alert by which its far end ends it. A daemon judges a
// client's certificate when the client takes the handshake to be done.
type listening struct {
	*tls.Conn
	n *network
}

// Read implements net.Conn.
func (l *listening) Read(p []byte) (int, error) {
	count, err := l.Conn.Read(p)
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == remoteError {
		l.n.alert.Store(alert)
	}
	return count, err
}

// remoteError is how crypto/tls says that the far end has sent an alert.
const remoteError = "remote error"

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.transport.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		return nil, n.failure(err)
	}
	return answer, err
}

// refusals are the alerts of a daemon that does not let a client in, as crypto/tls words them, and
// what the client can do.
var refusals = map[string]string{
	"tls: certificate required":           "it wants the certificate of a client: give one with its key",
	"tls: unknown certificate authority":  "no authority that it trusts has signed this client's certificate",
	"tls: expired certificate":            "this client's certificate is out of time",
	"tls: unsupported certificate":        "this client's certificate has a kind of key that it does not take",
	"tls: bad certificate":                "[api] in its configuration does not name this client, or the certificate is not one for clients; its log says which",
	"tls: protocol version not supported": "it does not speak TLS 1.3",
	"tls: no application protocol":        "it does not speak HTTP/2, so it is no sallyportd",
}

// failure makes one sentence of an error, and gives it a code.
func (n *network) failure(err error) error {
	var judged *tls.CertificateVerificationError
	alert := n.alert.Load()
	if alert == nil && (!errors.As(err, &alert) || alert.Op != remoteError) {
		alert = nil
	}
	switch {
	case alert != nil:
		why, known := refusals[alert.Err.Error()]
		if !known {
			why = alert.Err.Error()
		}
		return connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("sallyportd at %s refuses the connection: %s", n.address, why))
	case errors.As(err, &judged):
		return connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("the certificate of %s does not count: %w", n.address, judged.Err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it closes the connection")
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("it does not answer in time")
	}
	return connect.NewError(connect.CodeUnavailable, fmt.Errorf("cannot reach sallyportd at %s: %w", n.address, err))
}
