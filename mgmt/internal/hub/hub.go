// SPDX-License-Identifier: Apache-2.0

// Package hub gives each event of the daemon to all who watch.
package hub

import (
	"maps"
	"sync"

	"sallyport/mgmt/internal/events"
)

// behind is how many events a monitor may be behind; one that is further behind is cut off, so that
// it knows of its loss.
const behind = 1024

// Hub gives each event to every monitor, and counts.
type Hub struct {
	mu       sync.Mutex
	monitors map[chan events.Event]bool
	counts   map[string]uint64
}

// New makes one without subscribers.
func New() Hub {
	return Hub{monitors: map[chan events.Event]bool{}, counts: map[string]uint64{
		events.EventAcquire: 0, events.EventExpire: 0, events.EventLink: 0, events.EventSequence: 0, events.EventMapping: 0, events.EventICV: 0, events.EventAudit: 0, events.EventStray: 0, events.EventRestart: 0, events.EventTamper: 0, events.EventReady: 0, events.EventDisk: 0, events.EventUpset: 0, events.EventSelfTest: 0,
	}}
}

// Subscribe gives a channel of all events from now on. It is closed when its reader is too slow, or
// when the daemon ends.
func (h *Hub) Subscribe() chan events.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan events.Event, behind)
	h.monitors[c] = true
	return c
}

// Leave ends a subscription.
func (h *Hub) Leave(c chan events.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.monitors, c)
}

// Publish gives an event to all subscribers, and counts it.
func (h *Hub) Publish(e events.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[e.Kind]++
	for c := range h.monitors {
		select {
		case c <- e:
		default:
			h.end(c)
		}
	}
}

// Counted is how many events of each kind there were.
func (h *Hub) Counted() map[string]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.counts)
}

// Close ends all subscriptions.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.monitors {
		h.end(c)
	}
}

func (h *Hub) end(c chan events.Event) {
	close(c)
	delete(h.monitors, c)
}
