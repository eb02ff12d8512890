// SPDX-License-Identifier: Apache-2.0

package mutual

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Places bounds connections. One too many from an address takes the place of the oldest from there,
// and one too many in all that of the oldest: those that say nothing keep others out for no longer
// than the next attempt.
type Places struct {
	Most, MostOfOne int // in all, and from one address; of IPv6 from one /64

	mu    sync.Mutex
	taken []place // the oldest first
}

// place is that of a connection.
type place struct {
	conn net.Conn
	from netip.Addr
}

// Take gives a connection a place, and closes the one that had it.
func (p *Places) Take(conn net.Conn, from netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from = network(from)
	same, oldest := 0, -1
	for i, other := range p.taken {
		if other.from == from {
			if same++; oldest < 0 {
				oldest = i
			}
		}
	}
	if len(p.taken) >= p.Most && same < p.MostOfOne {
		oldest, same = 0, p.MostOfOne
	}
	if same >= p.MostOfOne {
		p.taken[oldest].conn.Close()
		p.taken = slices.Delete(p.taken, oldest, oldest+1)
	}
	p.taken = append(p.taken, place{conn, from})
}

// Leave frees the place of a connection, if it still has it.
func (p *Places) Leave(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = slices.DeleteFunc(p.taken, func(other place) bool { return other.conn == conn })
}

// network is what counts as one address.
func network(from netip.Addr) netip.Addr {
	if from = from.Unmap(); from.Is6() {
		return netip.PrefixFrom(from, 64).Masked().Addr()
	}
	return from
}
