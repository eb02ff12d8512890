// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/control"
)

// mostClients are served at once; each has a buffer of a line.
const mostClients = 64

// writeTimeout is how long a client may take to read an answer or an event.
const writeTimeout = 10 * time.Second

// Serve answers clients of a listener until ctx ends. Requests that have begun are finished first.
func (d *Daemon) Serve(ctx context.Context, listener net.Listener) error {
	return d.serve(ctx, listener, false)
}

// ServeReaders answers clients that may change nothing.
func (d *Daemon) ServeReaders(ctx context.Context, listener net.Listener) error {
	return d.serve(ctx, listener, true)
}

func (d *Daemon) serve(ctx context.Context, listener net.Listener, reads bool) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	places := make(chan struct{}, mostClients)
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case places <- struct{}{}:
		default:
			d.log.Warn("too many clients", "most", mostClients)
			_, _ = conn.Write(reply(nil, false, map[string]any{"error": "the daemon has as many clients as it serves", "input": false}))
			conn.Close()
			continue
		}
		clients.Add(1)
		go func() {
			defer func() { <-places; clients.Done() }()
			who := caller.Of(conn)
			if reads {
				who = who.Reading()
			}
			d.client(ctx, who, conn)
		}()
	}
}

// client answers the requests of one connection, in their order.
func (d *Daemon) client(ctx context.Context, who caller.Caller, conn net.Conn) {
	defer conn.Close()
	// The end of the daemon ends the reading, not the answer to a request that has begun.
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, control.MaxLine+2), 0) // never grown, which would leave keys behind
	for lines.Scan() {
		text, monitor := d.answer(who, lines.Bytes())
		clear(lines.Bytes())
		if monitor {
			d.monitor(ctx, conn, text)
			return
		}
		if !send(conn, text) {
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		send(conn, d.refuse(control.Head{}, inputf("a line is longer than %d bytes", control.MaxLine)))
	}
}

// monitor sends the answer to the request and then events, until the client goes, says anything, or
// is too slow.
func (d *Daemon) monitor(ctx context.Context, conn net.Conn, text []byte) {
	events := d.events.Subscribe()
	defer d.events.Leave(events)
	if !send(conn, text) {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1))
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-gone:
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			text, err := json.Marshal(e)
			if err != nil || !send(conn, append(text, '\n')) {
				return
			}
		}
	}
}

func send(conn net.Conn, text []byte) bool {
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := conn.Write(text)
	return err == nil
}
