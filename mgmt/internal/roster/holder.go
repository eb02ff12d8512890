// SPDX-License-Identifier: Apache-2.0

package roster

import "time"

// Holder decides what a node does with its chips, from the state and its lease. Times are of the
// node's own monotonic clock.
//
// A place is held only while the lease lasts, and only by a state that is as new as the lease. A
// place that changed hands and came back is let go in between.
type Holder struct {
	Slot int
	ID   string
	// Lease is how long a grant lasts from the moment at which it was asked for.
	Lease time.Duration

	state *State
	index uint64 // of the state in the log
	need  uint64 // what index the lease asks for
	until time.Duration

	held    [places]uint64 // Since of each place that the chips have; 0: they have it not
	raised  [places]uint64 // Since of each place that the chips are ready for
	raising [places]uint64
	stopped bool // the chips have nothing, for certain
	failed  bool // a write failed, so that they may have anything
	busy    bool // a raise is under way
}

// StepKind is what a node does next.
type StepKind int

// The kinds.
const (
	StepNone  StepKind = iota // nothing, until the state changes or the lease ends
	StepStop                  // take everything from the chips
	StepClear                 // take what the step lacks from the chips
	StepRaise                 // raise the floors of the replay windows for what the step has
	StepSet                   // give the chips what the step has
)

// Step is one action at the chips.
type Step struct {
	Kind  StepKind
	Owned Set
	Speak bool

	since [places]uint64
}

// Granted takes a grant that was asked for at a time. Index is that of the state that it needs.
func (h *Holder) Granted(asked time.Duration, index uint64) {
	if until := asked + h.Lease; until > h.until {
		h.until, h.need = until, max(h.need, index)
	}
}

// Applied takes a new state, and its place in the log.
func (h *Holder) Applied(s *State, index uint64) { h.state, h.index = s, index }

// Until is when the lease ends.
func (h *Holder) Until() time.Duration { return h.until }

// Live says whether the node may have places at a time.
func (h *Holder) Live(now time.Duration) bool { return now < h.until && h.index >= h.need }

// Holding says whether the chips have, or may have, a place.
func (h *Holder) Holding() bool { return !h.stopped }

// Held is how many buckets the chips have, and whether the node speaks.
func (h *Holder) Held() (buckets int, speaks bool) {
	s := step(StepNone, h.held)
	return s.Owned.Count(), s.Speak
}

// Released is the generation up to which the node has let go of all that it had to; 0: there is
// nothing to tell.
func (h *Holder) Released() uint64 {
	if h.state == nil || h.failed || h.state.Releasing(h.Slot) == 0 || h.held != h.kept(h.wanted()) {
		return 0
	}
	return h.state.Generation
}

// wanted is the Since of each place that the state gives to this node.
func (h *Holder) wanted() (want [places]uint64) {
	if h.state == nil {
		return want
	}
	if _, member := h.state.Of(h.Slot, h.ID); !member {
		return want
	}
	for n, p := range h.state.Places {
		if p.Owner == h.Slot && p.From == None {
			want[n] = p.Since
		}
	}
	return want
}

// kept is what the chips have and the node still may have.
func (h *Holder) kept(want [places]uint64) [places]uint64 { return both(h.held, want) }

func both(a, b [places]uint64) [places]uint64 {
	for n := range a {
		if a[n] != b[n] {
			a[n] = 0
		}
	}
	return a
}

// Next is the next step at a time. A node that starts stops its chips first: they may have what a
// program before it left.
func (h *Holder) Next(now time.Duration) Step {
	if !h.Live(now) {
		h.raised, h.raising = [places]uint64{}, [places]uint64{}
		if h.stopped {
			return Step{}
		}
		return Step{Kind: StepStop}
	}
	want := h.wanted()
	keep := h.kept(want)
	h.raised, h.raising = both(h.raised, want), both(h.raising, want)
	switch {
	case h.failed || !h.stopped && h.held == [places]uint64{}:
		return Step{Kind: StepStop}
	case h.held != keep:
		return step(StepClear, keep)
	}
	ready, gain := keep, want
	for n := range want {
		switch {
		case keep[n] != 0:
			gain[n] = 0
		case h.raised[n] != 0:
			ready[n], gain[n] = want[n], 0
		}
	}
	switch {
	case gain != [places]uint64{} && !h.busy:
		h.busy, h.raising = true, gain
		return step(StepRaise, gain)
	case ready != keep:
		return step(StepSet, ready)
	}
	return Step{}
}

// Raised ends the raise that is under way. Places that were lost meanwhile are not ready.
func (h *Holder) Raised(worked bool) {
	for n, since := range h.raising {
		if worked && since != 0 {
			h.raised[n] = since
		}
	}
	h.busy, h.raising = false, [places]uint64{}
}

// Begin says that the chips are about to get a step that gives them something: they may have it
// from now on.
func (h *Holder) Begin(s Step) {
	if s.Kind == StepSet {
		h.held, h.stopped = s.since, false
	}
}

// Done says that the chips have what a step says.
func (h *Holder) Done(s Step) {
	switch s.Kind {
	case StepStop:
		h.held, h.raised, h.stopped, h.failed = [places]uint64{}, [places]uint64{}, true, false
	case StepClear:
		h.held = s.since
	}
}

// Failed says that a step failed: the next one stops the chips.
func (h *Holder) Failed() { h.failed = true }

func step(kind StepKind, since [places]uint64) (s Step) {
	s.Kind, s.since, s.Speak = kind, since, since[Speaker] != 0
	for n, has := range since[:Buckets] {
		if has != 0 {
			s.Owned.Put(n)
		}
	}
	return s
}
