// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestCutOff: a node that is cut off, in both directions or in one, stops by itself before others
// have its buckets, and shares again once it is mended. The rig notes each bucket with two holders.
func TestCutOff(t *testing.T) {
	for _, c := range []struct {
		name      string
		hears     bool
		is        bool // heard
		theLeader bool
	}{
		{"both, a follower", false, false, false},
		{"both, the leader", false, false, true},
		{"it hears alone, a follower", true, false, false},
		{"it hears alone, the leader", true, false, true},
		{"it is heard alone, a follower", false, true, false},
		{"it is heard alone, the leader", false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cluster(t, 3, 4)
			cut := r.leader()
			if !c.theLeader {
				cut = r.others(cut)[0]
			}
			for _, other := range r.others(cut) {
				r.cut(cut.slot, other.slot, !c.is)
				r.cut(other.slot, cut.slot, !c.hears)
			}
			r.until("it stops", func() bool { return r.idle(cut.slot) })
			r.shared(r.others(cut)...)
			for _, other := range r.others(cut) {
				r.cut(cut.slot, other.slot, false)
				r.cut(other.slot, cut.slot, false)
			}
			r.shared(r.boxes...)
		})
	}
}

// TestOneLink: two nodes that do not reach each other, but both a third one, are no reason to stop
// for good.
func TestOneLink(t *testing.T) {
	r := cluster(t, 3, 4)
	r.cut(0, 1, true)
	r.cut(1, 0, true)
	time.Sleep(2 * waitBeats * heartbeat)
	r.until("a node leads that reaches the others", func() bool {
		held := 0
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, set := range r.has {
			held += set.Count()
		}
		return held == 256
	})
	r.cut(0, 1, false)
	r.cut(1, 0, false)
	r.shared(r.boxes...)
}

// TestTroubles: cuts and restarts at random; the rig notes each bucket with two holders.
func TestTroubles(t *testing.T) {
	r := cluster(t, 5, 8)
	random := rand.New(rand.NewPCG(1, 1))
	for range 12 {
		from, to := random.IntN(5), random.IntN(5)
		switch random.IntN(3) {
		case 0:
			r.cut(from, to, true)
		case 1:
			for other := range 5 {
				r.cut(from, other, true)
			}
		default:
			r.boxes[to].stop()
			r.boxes[to].start()
		}
		time.Sleep(time.Duration(random.IntN(8)) * heartbeat)
		if random.IntN(3) == 0 {
			r.mend()
		}
	}
	r.mend()
	r.shared(r.boxes...)
}

// mend mends all links.
func (r *rig) mend() {
	for from := range r.boxes {
		for to := range r.boxes {
			r.cut(from, to, false)
		}
	}
}
