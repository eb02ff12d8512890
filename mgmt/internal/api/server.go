// SPDX-License-Identifier: Apache-2.0

// Package api answers the requests of the daemon's API (docs/reference/api.md), which are those of
// its control socket in the messages of mgmt/api: by gRPC, by gRPC-Web, and as JSON over HTTP.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/api/sallyport/v1/sallyportv1connect"
	"sallyport/mgmt/internal/daemon"
)

// Of a client: how long it may take to send a request, to read an answer or an event, and to say
// something at all; and how many requests it may have under way.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	idleTimeout  = 2 * time.Minute
	mostStreams  = 8
	mostHeaders  = 16 << 10 // bytes

	handshakeTimeout = 5 * time.Second // of TLS
)

// Server is the API of a daemon.
type Server struct {
	log     *slog.Logger
	service http.Handler
	keys    *keyring
	paths   map[string]bool // of its methods
	refuse  *connect.ErrorWriter

	readTimeout, writeTimeout, handshakeTimeout time.Duration
}

// New makes the API of a daemon, whose version it tells.
func New(d *daemon.Daemon, log *slog.Logger, version string) (*Server, error) {
	keys, err := newKeyring()
	if err != nil {
		return nil, fmt.Errorf("cannot make a sealing key: %w", err)
	}
	options := []connect.HandlerOption{connect.WithReadMaxBytes(api.MaxMessage), connect.WithCompression("gzip", nil, nil)}
	_, service := sallyportv1connect.NewBoxServiceHandler(&methods{daemon: d, version: version, keys: keys}, options...)
	s := &Server{
		log: log, service: service, keys: keys, paths: map[string]bool{}, refuse: connect.NewErrorWriter(options...),
		readTimeout: readTimeout, writeTimeout: writeTimeout, handshakeTimeout: handshakeTimeout,
	}
	list := sallyportv1.File_sallyport_v1_sallyport_proto.Services().ByName("BoxService").Methods()
	for i := range list.Len() {
		s.paths["/"+sallyportv1connect.BoxServiceName+"/"+string(list.Get(i).Name())] = true
	}
	return s, nil
}

// Serve answers the clients of a Unix socket until ctx ends. Requests that have begun are finished
// first, and net/http waits 5 s for a client that has not yet sent a whole request. Readers may
// change nothing.
func (s *Server) Serve(ctx context.Context, listener net.Listener, readers bool) error {
	return s.serve(ctx, limited(listener, s.log, localCaller(readers)))
}

// ServeNetwork does so for the clients that reach a listener over the network. Nothing that comes
// from there ends it.
func (s *Server) ServeNetwork(ctx context.Context, listener net.Listener, n *Network) error {
	// The end of the gate ends its connections, once requests that have begun are finished.
	gate, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	return s.serve(ctx, limited(n.gate(gate, listener, s.handshakeTimeout, s.log), s.log, n.callerOf))
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler: s, Protocols: new(http.Protocols), ReadHeaderTimeout: s.readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeaders,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: mostStreams, SendPingTimeout: idleTimeout, PingTimeout: writeTimeout, WriteByteTimeout: writeTimeout},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// Watch ends with ctx; other methods do not look at it.
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: withParty,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- server.Shutdown(context.WithoutCancel(ctx))
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// ServeHTTP answers a request. It bounds the time of the client, and says in one sentence what the
// API does not have.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := partyOf(r.Context())
	if !from.crowded {
		leave, ok := from.turns.take(r.Context(), r.URL.Path)
		if !ok {
			return
		}
		defer leave()
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.readTimeout))
	w.Header().Set(api.VersionHeader, api.Version)
	out := &bounded{w, control, s.writeTimeout}
	defer out.begin()
	switch {
	case !from.caller.Known():
		s.deny(out, r, errorf(connect.CodeUnauthenticated, "the daemon cannot tell who asks"))
	case from.crowded:
		out.Header().Set("Connection", "close")
		s.deny(out, r, errorf(connect.CodeResourceExhausted, "the daemon has as many clients as it serves"))
	case !s.paths[r.URL.Path]:
		s.deny(out, r, errorf(connect.CodeUnimplemented, "%s", unknown(r.URL.Path)))
	default:
		s.service.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), deadlines{}, control)))
	}
}

// unknown says what a path asks for that is not there.
func unknown(path string) string {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	version, ours := strings.CutPrefix(service, "sallyport.v")
	version, _, _ = strings.Cut(version, ".")
	switch {
	case ours && version != api.Major(api.Version):
		return fmt.Sprintf("this sallyportd speaks version %s of its API, and the client another, %.20q: use programs of one release", api.Version, version)
	case service == sallyportv1connect.BoxServiceName:
		return fmt.Sprintf("version %s of the API, which this sallyportd speaks, has no method %.40q", api.Version, method)
	}
	return fmt.Sprintf("this is the API of sallyportd, which has the service %s alone", sallyportv1connect.BoxServiceName)
}

// deny refuses a request in the protocol of its client.
func (s *Server) deny(w http.ResponseWriter, r *http.Request, err error) {
	if s.refuse.IsSupported(r) {
		_ = s.refuse.Write(w, r, err)
		return
	}
	http.Error(w, err.Error(), http.StatusNotFound)
}
