// SPDX-License-Identifier: Apache-2.0

package mutual_test

import (
	"net"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/mutual"
)

// marked is a connection that notes its end.
type marked struct {
	net.Conn
	closed bool
}

func (m *marked) Close() error { m.closed = true; return nil }

// TestPlaces: one too many of an address takes the place of its oldest, one too many in all that of
// the oldest. Addresses of one /64 of IPv6 are one.
func TestPlaces(t *testing.T) {
	p := &mutual.Places{Most: 4, MostOfOne: 2}
	var conns []*marked
	take := func(from string) {
		conn := &marked{}
		conns = append(conns, conn)
		p.Take(conn, netip.MustParseAddr(from))
	}
	check := func(closed ...int) {
		t.Helper()
		is := map[int]bool{}
		for _, i := range closed {
			is[i] = true
		}
		for i, conn := range conns {
			if conn.closed != is[i] {
				t.Errorf("with %d connections, %d: closed is %v", len(conns), i, conn.closed)
			}
		}
	}
	take("192.0.2.1")        // 0
	take("2001:db8::1")      // 1
	take("::ffff:192.0.2.1") // 2
	take("2001:db8::ffff:2") // 3: as many as there are places
	check()
	take("192.0.2.1") // 4
	check(0)
	take("2001:db8::3") // 5
	check(0, 1)
	take("2001:db8:0:1::1") // 6: of another network, so the oldest of all goes
	check(0, 1, 2)
	p.Leave(conns[3])
	p.Leave(conns[0])
	take("192.0.2.9") // 7
	check(0, 1, 2)
}
