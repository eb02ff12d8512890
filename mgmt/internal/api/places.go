// SPDX-License-Identifier: Apache-2.0

package api

import (
	"log/slog"
	"net"
	"sync"

	"golang.org/x/time/rate"

	"sallyport/mgmt/internal/daemon"
)

// places is a listener that counts its clients.
type places struct {
	net.Listener
	log      *slog.Logger
	callerOf func(net.Conn) daemon.Caller
	seldom   rate.Sometimes

	mu   sync.Mutex
	used int
	of   map[string]int // of each client of the network
}

// limited bounds the clients of a listener, and names the caller of each.
func limited(listener net.Listener, log *slog.Logger, callerOf func(net.Conn) daemon.Caller) net.Listener {
	return &places{Listener: listener, log: log, callerOf: callerOf, seldom: rate.Sometimes{First: 1, Interval: logAgain}, of: map[string]int{}}
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	caller  daemon.Caller
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
	caller := p.callerOf(conn)
	client := caller.Client()
	p.mu.Lock()
	defer p.mu.Unlock()
	alone := client == "" // of this machine, where all clients are one
	crowded := p.used >= mostClients || !alone && p.of[client] >= mostOfOne
	if crowded {
		p.seldom.Do(func() { p.log.Warn("too many clients of the API", "most", mostClients, "client", client) })
	}
	if p.used >= mostClients+mostRefused || !alone && p.of[client] >= mostOfOne+mostOfOneRefused {
		return nil
	}
	p.used++
	p.of[client]++
	return &placed{conn, caller, crowded, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used--
		if p.of[client]--; p.of[client] == 0 {
			delete(p.of, client)
		}
	})}
}

// Close gives the place back.
func (p *placed) Close() error {
	p.leave()
	return p.Conn.Close()
}
