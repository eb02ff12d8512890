// SPDX-License-Identifier: Apache-2.0

package roster

import "time"

// Warden is the leader's account of the leases that may still last. Times are of the leader's own
// monotonic clock. A leader of before gave no lease that was asked for behind the election of this
// one, so all leases that this one does not know ended Wait behind it.
//
// Wait has to be longer than a lease, by more than two clocks can differ meanwhile and than a node
// needs to stop its chips.
type Warden struct {
	Wait time.Duration

	since time.Duration
	last  map[int]grant
}

type grant struct {
	id    string
	asked time.Duration
}

// NewWarden is that of a node that is the leader since a time.
func NewWarden(wait, since time.Duration) *Warden {
	return &Warden{Wait: wait, since: since, last: map[int]grant{}}
}

// Grant notes a lease for a node whose request came at a time. Requests of one that has no slot get
// none.
func (w *Warden) Grant(s *State, slot int, id string, came time.Duration) bool {
	if _, member := s.Of(slot, id); !member {
		return false
	}
	if before := w.last[slot]; before.id != id || before.asked < came {
		w.last[slot] = grant{id, came}
	}
	return true
}

// Ends is when the last lease of a node has ended for certain. A slot that changes hands counts as
// one node.
func (w *Warden) Ends(slot int) time.Duration { return max(w.since, w.last[slot].asked) + w.Wait }

// Dead are the nodes that have or may have places, and no lease any more.
func (w *Warden) Dead(s *State, now time.Duration) (dead []Node) {
	for _, n := range s.Nodes {
		if (n.Up || s.Releasing(n.Slot) > 0) && now >= w.Ends(n.Slot) {
			dead = append(dead, n)
		}
	}
	return dead
}
