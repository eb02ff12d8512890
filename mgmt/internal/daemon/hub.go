// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"maps"
	"sync"

	"sallyport/mgmt/internal/events"
)

// behind is how many events a monitor may be behind; one that is further behind is cut off, so that
// it knows of its loss.
const behind = 1024

// hub gives each event to every monitor, and counts.
type hub struct {
	mu       sync.Mutex
	monitors map[chan events.Event]bool
	counts   map[string]uint64
}

func newHub() hub {
	return hub{monitors: map[chan events.Event]bool{}, counts: map[string]uint64{
		events.EventAcquire: 0, events.EventExpire: 0, events.EventLink: 0, events.EventSequence: 0, events.EventMapping: 0, events.EventICV: 0, events.EventAudit: 0, events.EventStray: 0, events.EventRestart: 0, events.EventTamper: 0, events.EventReady: 0, events.EventDisk: 0, events.EventUpset: 0, events.EventSelfTest: 0,
	}}
}

// subscribe gives a channel of all events from now on. It is closed when its reader is too slow, or
// when the daemon ends.
func (h *hub) subscribe() chan events.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan events.Event, behind)
	h.monitors[c] = true
	return c
}

func (h *hub) leave(c chan events.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.monitors, c)
}

func (h *hub) publish(e events.Event) {
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

// counted is how many events of each kind there were.
func (h *hub) counted() map[string]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.counts)
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.monitors {
		h.end(c)
	}
}

func (h *hub) end(c chan events.Event) {
	close(c)
	delete(h.monitors, c)
}
