// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/mutual"
)

// Connections have places: mostStrangers while their handshake lasts, mostKnown of the other box
// behind it.
const (
	mostStrangers = 16
	mostKnown     = 8
)

// known is a listener of connections whose far end has shown that it is the other box.
type known struct {
	*mutual.Gate
	places mutual.Places
}

// newGate makes the listener and has it accept until ctx ends, from one address alone.
func newGate(ctx context.Context, inner net.Listener, other netip.Addr, identity func() *Identity, timeout time.Duration, log *slog.Logger) *known {
	from := func(from netip.Addr) error {
		if from.WithZone("") != other.Unmap().WithZone("") {
			return errors.New("it does not come from the other box's address")
		}
		return nil
	}
	rules := mutual.Rules{
		From: from, Config: func() *tls.Config { return identity().config() }, Timeout: timeout, Most: mostStrangers, MostOfOne: mostStrangers,
		Log: log, Port: "the pair's port",
	}
	return &known{mutual.NewGate(ctx, inner, rules), mutual.Places{Most: mostKnown, MostOfOne: mostKnown}}
}

// Accept waits for the other box.
func (k *known) Accept() (net.Conn, error) {
	conn, err := k.Gate.Accept()
	if err != nil {
		return nil, err
	}
	k.places.Take(conn, mutual.AddressOf(conn))
	return &heldConn{conn, k}, nil
}

// heldConn frees its place when it is closed.
type heldConn struct {
	net.Conn
	of *known
}

// Close ends the connection.
func (c *heldConn) Close() error {
	c.of.places.Leave(c.Conn)
	return c.Conn.Close()
}
