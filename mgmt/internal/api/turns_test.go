// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// crowd counts the requests that are carried out at once, and holds them until it is opened.
type crowd struct {
	http.Handler
	mu        sync.Mutex
	now, most map[string]int // by client
	open      chan struct{}
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/List") {
		who := partyOf(r.Context()).caller.Client()
		c.mu.Lock()
		c.now[who]++
		c.most[who] = max(c.most[who], c.now[who])
		c.mu.Unlock()
		<-c.open
		defer func() {
			c.mu.Lock()
			c.now[who]--
			c.mu.Unlock()
		}()
	}
	c.Handler.ServeHTTP(w, r)
}

func (c *crowd) of(who string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now[who]
}

// TestTurns: of all requests of one client of the network, by however many connections, so many are
// carried out at once; the others wait, one that is given up among them. Streams of events, other
// clients and those of this machine take no turns from it.
func TestTurns(t *testing.T) {
	c := &crowd{now: map[string]int{}, most: map[string]int{}, open: make(chan struct{})}
	n := newNetworked(t, func(s *Server) { c.Handler, s.service = s.service, c })
	var asked sync.WaitGroup
	list := func(by *client.Client) {
		asked.Go(func() {
			if _, err := by.List(t.Context(), &sallyportv1.ListRequest{What: "policy"}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		by := n.remote("watcher")
		stream, err := by.Watch(t.Context(), &sallyportv1.WatchRequest{})
		n.must(err)
		defer stream.Close()
		for range mostStreams - 1 {
			list(by)
		}
	}
	n.until("as many are under way as may be", func() bool { return c.of("watcher") >= mostTurns })
	other, local := n.remote("controller"), n.client(n.path)
	for range mostTurns + 1 {
		list(local)
	}
	n.until("those of this machine are under way", func() bool { return c.of("") == mostTurns+1 })
	n.must(version(t, other))
	close(c.open)
	asked.Wait()
	if c.most["watcher"] != mostTurns {
		t.Errorf("%d requests of one client were carried out at once", c.most["watcher"])
	}
	n.must(version(t, n.remote("watcher")))
}

// TestTurnsOutliveConnections: a client gets no more turns by leaving and coming back while its
// requests are under way.
func TestTurnsOutliveConnections(t *testing.T) {
	c := &crowd{now: map[string]int{}, most: map[string]int{}, open: make(chan struct{})}
	n := newNetworked(t, func(s *Server) { c.Handler, s.service = s.service, c })
	ctx, leave := context.WithCancel(t.Context())
	var asked sync.WaitGroup
	first := n.remote("watcher")
	for range mostTurns {
		asked.Go(func() { _, _ = first.List(ctx, &sallyportv1.ListRequest{What: "policy"}) })
	}
	n.until("as many are under way as may be", func() bool { return c.of("watcher") == mostTurns })
	leave()
	asked.Wait()
	n.until("the client has left", func() bool {
		first.Close()
		n.network.mu.Lock()
		defer n.network.mu.Unlock()
		return len(n.network.open) == 0
	})
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	again := n.remote("watcher")
	if _, err := again.GetVersion(soon, &sallyportv1.GetVersionRequest{}); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Error(err)
	}
	close(c.open)
	n.must(version(t, again))
}
