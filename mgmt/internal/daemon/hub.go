package daemon

import (
	"maps"
	"sync"

	"sallyport/mgmt/internal/box"
)

// behind is how many events a monitor may be behind; one that is further behind is cut off, so that it knows of its loss.
const behind = 1024

// hub gives each event to every monitor, and counts.
type hub struct {
	mu       sync.Mutex
	monitors map[chan box.Event]bool
	counts   map[string]uint64
}

func newHub() hub {
	return hub{monitors: map[chan box.Event]bool{}, counts: map[string]uint64{
		box.EventAcquire: 0, box.EventExpire: 0, box.EventLink: 0, box.EventSequence: 0, box.EventMapping: 0, box.EventICV: 0, box.EventAudit: 0, box.EventRestart: 0,
	}}
}

// subscribe gives a channel of all events from now on. It is closed when its reader is too slow, or when the daemon ends.
func (h *hub) subscribe() chan box.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan box.Event, behind)
	h.monitors[c] = true
	return c
}

func (h *hub) leave(c chan box.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.monitors, c)
}

func (h *hub) publish(e box.Event) {
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

func (h *hub) end(c chan box.Event) {
	close(c)
	delete(h.monitors, c)
}
