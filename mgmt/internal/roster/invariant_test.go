// SPDX-License-Identifier: Apache-2.0

package roster

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

// explore runs the model of some nodes for a minute of troubles, and half a minute of calm.
func explore(t testing.TB, seed uint64, count int, wait time.Duration) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 1)), cut: map[[2]int]bool{}, wait: wait, log: []*State{New()}}
	s := must(t, New(), founded(8))
	for slot := 1; slot < count; slot++ {
		s = must(t, s, admit(slot))
	}
	w.log = append(w.log, s)
	for slot := range count {
		rate := 1 + (2*w.r.Float64()-1)/drift
		w.nodes = append(w.nodes, &member{world: w, slot: slot, rate: rate, offset: w.some(time.Hour)})
	}
	for _, m := range w.nodes {
		m.start()
	}
	w.nodes[w.r.IntN(count)].elect()
	trouble(w)
	const troubles, end = time.Minute, 90 * time.Second
	for len(w.queue) > 0 && w.now < end {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		if !w.calm && w.now > troubles {
			w.calm = true
			clear(w.cut)
		}
		e.run()
	}
	return w
}

// trouble cuts and mends links, kills nodes and elects leaders, again and again.
func trouble(w *world) {
	m := w.nodes[w.r.IntN(len(w.nodes))]
	other := w.nodes[w.r.IntN(len(w.nodes))]
	switch kind := w.r.IntN(12); {
	case w.calm:
		if current := w.leading(); current == nil {
			m.elect()
		}
	case kind < 2 && m.alive:
		m.die()
	case kind < 4: // a node cut off from all, in one direction or both
		for _, n := range w.nodes {
			if n != m {
				w.cut[[2]int{m.slot, n.slot}] = true
				w.cut[[2]int{n.slot, m.slot}] = kind == 3
			}
		}
	case kind < 6 && m != other:
		w.cut[[2]int{m.slot, other.slot}] = true
	case kind < 8:
		clear(w.cut)
	case kind < 10:
		m.elect()
	}
	w.after(w.some(6*beat), func() { trouble(w) })
}

// leading is the leader that all the living know of, once there is one.
func (w *world) leading() *member {
	for _, m := range w.nodes {
		if m.alive && m.warden != nil && m.epoch == w.epoch {
			return m
		}
	}
	return nil
}

// TestNoTwoHolders: whatever happens, no bucket has two holders and there are never two speakers;
// and once it is calm all buckets are held, in equal shares.
func TestNoTwoHolders(t *testing.T) {
	seeds, moves, elected, deaths := uint64(40), 0, 0, 0
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		count := []int{2, 3, 5, 8}[seed%4]
		w := explore(t, seed, count, 2*lease)
		moves, elected, deaths = moves+len(w.log), elected+w.elected, deaths+w.deaths
		if w.broken > 0 {
			t.Errorf("seed %d, %d nodes: %d places had two holders", seed, count, w.broken)
		}
		speakers, held := 0, 0
		for _, m := range w.nodes {
			own := 0
			for n, has := range m.chips {
				if has && n == Speaker {
					speakers++
				} else if has {
					own++
				}
			}
			if own < Buckets/count || own > Buckets/count+1 {
				t.Errorf("seed %d: node %d of %d has %d buckets at last", seed, m.slot, count, own)
			}
			held += own
		}
		if held != Buckets || speakers != 1 {
			t.Errorf("seed %d: %d buckets are held at last, and %d speak", seed, held, speakers)
		}
	}
	t.Logf("%d minutes of troubles: %d changes of the roster, %d elections, %d deaths", seeds, moves, elected, deaths)
}

// TestTheWaitCounts: with a wait shorter than a lease the model finds second holders. So it would
// find other mistakes as well.
func TestTheWaitCounts(t *testing.T) {
	broken := 0
	for seed := range uint64(12) {
		broken += explore(t, seed, 3, lease/2).broken
	}
	if broken == 0 {
		t.Error("the model finds no second holder")
	}
}
