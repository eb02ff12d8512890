// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/events"
)

const (
	period     = time.Second // between samples
	mostPoints = 300
	mostEvents = 200
)

// Point is the rates at a time. N numbers points and events together, from 1.
type Point struct {
	N  uint64 `json:"n"`
	At int64  `json:"at"` // milliseconds since the epoch
	Rates
}

// Event is one line of the list of events.
type Event struct {
	N    uint64 `json:"n"`
	At   int64  `json:"at"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// history keeps the last points and events.
type history struct {
	run string // names this life of the daemon: numbers of another mean nothing

	mu     sync.Mutex
	last   daemon.Sample
	drops  []Drop
	points []Point
	events []Event
	n      uint64
}

func newHistory() *history { return &history{run: rand.Text(), drops: []Drop{}} }

// take adds a sample. The first gives no rates.
func (h *history) take(s daemon.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var changes [3]change
	for c := range s.Chips {
		changes[c] = between(chip.CounterList[c], h.last.Chips[c], s.Chips[c])
	}
	if !h.last.At.IsZero() {
		h.n++
		h.points = lastOf(mostPoints, append(h.points, Point{h.n, s.At.UnixMilli(), ratesOf(changes)}))
	}
	h.last, h.drops = s, dropsOf(s, changes)
}

// note adds an event.
func (h *history) note(kind, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	h.events = lastOf(mostEvents, append(h.events, Event{h.n, time.Now().UnixMilli(), kind, text}))
}

// eventText is what the log says of an event, without its time, and with how many it stands for.
func eventText(e events.Event) string {
	text := e.String()
	if e.Dropped == nil {
		return text
	}
	_, text, _ = strings.Cut(text, " ")
	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times)", e.Count)
	}
	return text
}

// lastOf leaves the last `most`.
func lastOf[T any](most int, list []T) []T { return list[max(0, len(list)-most):] }

// recent is what happened after a place in the history.
type recent struct {
	Sample daemon.Sample `json:"-"`
	// Fresh says that this is all that is kept, because this life of the daemon has no
	// such place.
	Fresh  bool    `json:"fresh"`
	Next   string  `json:"next"` // the place behind it
	Points []Point `json:"points"`
	Events []Event `json:"events"`
	Drops  []Drop  `json:"drops"`
}

// since gives what happened after `place`, which an earlier answer named.
func (h *history) since(place string) recent {
	h.mu.Lock()
	defer h.mu.Unlock()
	var after uint64
	fresh := false
	if _, err := fmt.Sscanf(place, h.run+"-%d", &after); err != nil || after > h.n {
		after, fresh = 0, true
	}
	out := recent{h.last, fresh, fmt.Sprintf("%s-%d", h.run, h.n), []Point{}, []Event{}, h.drops}
	for _, p := range h.points {
		if p.N > after {
			out.Points = append(out.Points, p)
		}
	}
	for _, e := range h.events {
		if e.N > after {
			out.Events = append(out.Events, e)
		}
	}
	return out
}
