// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// idle is how long a connection may say nothing.
const idle = time.Minute

// mostHead is the longest head of a request, in bytes.
const mostHead = 4 << 10

// Server answers the other box. None of its functions may wait for the box.
type Server struct {
	// Other is the address from which the other box asks; connections from elsewhere are closed
	// at once.
	Other netip.Addr
	// Identity is the one of now: it changes when certificates are renewed.
	Identity func() *Identity
	// Timeout is that of a handshake and of each request.
	Timeout time.Duration
	Log     *slog.Logger

	Status  func() Status
	Numbers func() Numbers
	// Yield begins to give the place away, or says why not.
	Yield func() error
	// Claim lets the other box have the place, for as long as it takes it to become active, or says
	// why not.
	Claim func() error
}

// Serve answers until ctx ends. Nothing that comes from the network ends it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Status()) })
	mux.HandleFunc("GET "+pathNumbers, func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Numbers()) })
	for path, do := range map[string]func() error{pathYield: s.Yield, pathClaim: s.Claim} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, _ *http.Request) {
			if err := do(); err != nil {
				http.Error(w, err.Error(), http.StatusConflict)
			}
		})
	}
	server := &http.Server{
		Handler: mux, ReadTimeout: s.Timeout, WriteTimeout: numbersTimeout, IdleTimeout: idle, MaxHeaderBytes: mostHead, ErrorLog: log.New(io.Discard, "", 0),
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	err := server.Serve(newGate(ctx, listener, s.Other, s.Identity, s.Timeout, s.Log))
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("the other box cannot be answered any more: %w", err)
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}
