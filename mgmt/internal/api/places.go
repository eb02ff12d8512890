// SPDX-License-Identifier: Apache-2.0

package api

import (
	"log/slog"
	"net"
	"sync"

	"golang.org/x/time/rate"

	"sallyport/mgmt/internal/caller"
)

// places is a listener that counts its clients.
type places struct {
	net.Listener
	log      *slog.Logger
	callerOf func(net.Conn) caller.Caller
	seldom   rate.Sometimes

	mu   sync.Mutex
	used int
	of   map[string]*account // of the network, by name; as many as the configuration ever named
}

// account has what one client of the network uses. It outlives the client's connections, because a
// request may do so.
type account struct {
	used  int
	turns turns
}

// limited bounds the clients of a listener, and names the caller of each.
func limited(listener net.Listener, log *slog.Logger, callerOf func(net.Conn) caller.Caller) net.Listener {
	return &places{Listener: listener, log: log, callerOf: callerOf, seldom: rate.Sometimes{First: 1, Interval: logAgain}, of: map[string]*account{}}
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	caller  caller.Caller
	crowded bool
	turns   turns
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
	caller := p.callerOf(conn)
	name := caller.Client()
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.of[name]
	switch {
	case name == "": // of this machine, where all clients are one
		of = &account{}
	case of == nil:
		of = &account{turns: make(turns, mostTurns)}
		p.of[name] = of
	}
	crowded := p.used >= mostClients || of.used >= mostOfOne
	if crowded {
		p.seldom.Do(func() { p.log.Warn("too many clients of the API", "most", mostClients, "client", name) })
	}
	if p.used >= mostClients+mostRefused || of.used >= mostOfOne+mostOfOneRefused {
		return nil
	}
	p.used++
	of.used++
	return &placed{conn, caller, crowded, of.turns, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used--
		of.used--
	})}
}

// Close gives the place back.
func (p *placed) Close() error {
	p.leave()
	return p.Conn.Close()
}
