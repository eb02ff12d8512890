// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"net"
	"sync"
)

// wiring is the network between the nodes of a rig: each direction between two of them can be cut.
type wiring struct {
	lines sync.RWMutex
	cuts  map[[2]int]bool
	slots map[string]int // by address
}

func (w *wiring) name(address string, slot int) {
	w.lines.Lock()
	defer w.lines.Unlock()
	w.slots[address] = slot
}

// cut cuts what a node sends to another, or mends it.
func (w *wiring) cut(from, to int, cut bool) {
	w.lines.Lock()
	defer w.lines.Unlock()
	w.cuts[[2]int{from, to}] = cut
}

func (w *wiring) isCut(from, to int) bool {
	w.lines.RLock()
	defer w.lines.RUnlock()
	return w.cuts[[2]int{from, to}]
}

func (w *wiring) dial(ctx context.Context, from int, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w.lines.RLock()
	defer w.lines.RUnlock()
	return &line{conn, w, from, w.slots[address]}, nil
}

// line is a connection whose bytes get lost while it is cut.
type line struct {
	net.Conn
	of       *wiring
	from, to int
}

// Write writes, or loses all.
func (l *line) Write(p []byte) (int, error) {
	if l.of.isCut(l.from, l.to) {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// Read reads what does not get lost.
func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		if err != nil || !l.of.isCut(l.to, l.from) {
			return n, err
		}
	}
}
