// SPDX-License-Identifier: Apache-2.0

// Package listen keeps servers listening when an Accept fails.
package listen

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// firstPause and longestPause bound how long a listener waits after an Accept that failed: for lack
// of file descriptors, say.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// steady is a listener whose Accept fails only once the listener is closed.
type steady struct {
	net.Listener
	log    *slog.Logger
	closed chan struct{}
	close  func() error
}

// Steady makes a listener whose Accept fails with net.ErrClosed alone. It logs any other failure
// and tries again, with pauses of up to a second.
func Steady(inner net.Listener, log *slog.Logger) net.Listener {
	s := &steady{Listener: inner, log: log, closed: make(chan struct{})}
	s.close = sync.OnceValue(func() error { close(s.closed); return inner.Close() })
	return s
}

// Accept waits for a connection.
func (s *steady) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		conn, err := s.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		if pause == firstPause {
			s.log.Warn("a connection could not be accepted", "address", s.Addr().String(), "error", err.Error())
		}
		select {
		case <-s.closed:
			return nil, net.ErrClosed
		case <-time.After(pause):
		}
	}
}

// Close ends Accept.
func (s *steady) Close() error { return s.close() }
