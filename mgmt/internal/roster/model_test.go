// SPDX-License-Identifier: Apache-2.0

package roster

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

// The model: nodes with clocks of their own, links that lose, delay and are cut in either
// direction, leaders that do not know that there is a newer one, and chips that keep what they last
// got. Of raft it takes that a majority is needed for an election and for an entry of the log.
const (
	beat  = 100 * time.Millisecond
	lease = 3 * beat
	drift = 100 // a clock is off by at most 1 in so many
)

type event struct {
	at  time.Duration
	n   int
	run func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

type world struct {
	t       testing.TB
	r       *rand.Rand
	now     time.Duration
	queue   events
	count   int
	nodes   []*member
	log     []*State
	epoch   int
	cut     map[[2]int]bool
	calm    bool // no more trouble
	wait    time.Duration
	broken  int // places with two holders at a time
	elected int
	deaths  int
}

type member struct {
	*world
	slot   int
	rate   float64 // of its clock
	offset time.Duration
	life   int // counts its deaths
	alive  bool
	term   int
	leader int // that it heard of last
	chips  [places]bool
	holder *Holder
	// of a leader:
	epoch   int
	warden  *Warden
	quorum  time.Duration // it was the leader then, for certain
	waiting []func() bool
}

func (w *world) after(d time.Duration, run func()) {
	w.count++
	heap.Push(&w.queue, event{w.now + d, w.count, run})
}

func (w *world) some(most time.Duration) time.Duration {
	return time.Duration(w.r.Int64N(int64(most) + 1))
}

// send brings a message from one node to another, late, or never.
func (w *world) send(from, to *member, run func()) {
	life := to.life
	if w.cut[[2]int{from.slot, to.slot}] || !w.calm && w.r.IntN(50) == 0 {
		return
	}
	d := w.some(beat / 5)
	if !w.calm && w.r.IntN(20) == 0 {
		d = w.some(8 * lease)
	}
	w.after(d, func() {
		if to.alive && to.life == life {
			run()
		}
	})
}

func (m *member) clock() time.Duration { return m.offset + time.Duration(float64(m.now)*m.rate) }

func (m *member) start() {
	m.alive, m.leader, m.warden = true, 0, nil
	m.holder = &Holder{Slot: m.slot, ID: node(m.slot).ID, Lease: lease}
	if known := m.r.IntN(len(m.log)); known > 0 { // of its disk
		m.holder.Applied(m.log[known], uint64(known))
	}
	m.tick()
	m.step()
}

// die stops the node's program; what ends it closes the ports in time.
func (m *member) die() {
	m.life++
	m.alive = false
	m.deaths++
	life := m.life
	m.after(m.some(lease), func() {
		if m.life == life && !m.alive {
			m.chips = [places]bool{}
			m.after(m.some(5*lease), func() { m.start() })
		}
	})
}

// tick asks for a lease, and does a leader's duties.
func (m *member) tick() {
	life := m.life
	if l := m.nodes[m.leader]; true {
		asked, released := m.clock(), m.holder.Released()
		m.send(m, l, func() { l.asked(m, asked, released) })
	}
	for n := range 4 {
		m.after(time.Duration(n)*beat/4, func() {
			if m.life == life && m.warden != nil {
				m.lead()
			}
		})
	}
	m.after(beat, func() {
		if m.life == life && m.alive {
			m.tick()
		}
	})
}

// lead asks a majority whether this is the leader, tells all of the log, and finds the dead.
func (m *member) lead() {
	begun, votes := m.now, 0
	for _, voter := range m.nodes {
		m.send(m, voter, func() {
			if voter.term <= m.epoch {
				if voter.term < m.epoch {
					voter.warden = nil
				}
				voter.term, voter.leader = m.epoch, m.slot
				voter.apply(len(m.log))
			}
			if voter.term != m.epoch {
				return
			}
			m.send(voter, m, func() {
				if votes++; votes == len(m.nodes)/2+1 && m.warden != nil {
					m.quorum = max(m.quorum, begun)
					m.grant()
				}
			})
		})
	}
	for _, dead := range m.warden.Dead(m.log[len(m.log)-1], m.clock()) {
		m.propose(Command{Do: Down, Slot: dead.Slot, ID: dead.ID})
	}
}

// apply takes entries of the log up to a number; some of them at once, as from a snapshot.
func (m *member) apply(upTo int) {
	for n := int(m.holder.index) + 1; n < upTo; n++ {
		if m.r.IntN(4) > 0 || n == upTo-1 {
			m.holder.Applied(m.log[n], uint64(n))
		}
	}
	m.step()
}

// propose enters a command into the log, if the node is the leader still and reaches a majority.
func (m *member) propose(c Command) {
	reached := 0
	for _, n := range m.nodes {
		if n.alive && n.term == m.epoch && !m.cut[[2]int{m.slot, n.slot}] && !m.cut[[2]int{n.slot, m.slot}] {
			reached++
		}
	}
	if reached <= len(m.nodes)/2 {
		return
	}
	if next, err := m.log[len(m.log)-1].Changed(c); err == nil && next != m.log[len(m.log)-1] {
		m.log = append(m.log, next)
		m.world.log = m.log
	}
}

// asked is a request for a lease, which waits for a majority.
func (m *member) asked(from *member, asked time.Duration, released uint64) {
	if m.warden == nil {
		return
	}
	came, at, life := m.clock(), m.now, from.life
	m.waiting = append(m.waiting, func() bool {
		if m.quorum < at {
			return false
		}
		s := m.world.log[len(m.world.log)-1]
		n, _ := s.At(from.slot)
		if !n.Up {
			m.propose(on(Up, from.slot))
		}
		if released > 0 {
			m.propose(Command{Do: Released, Slot: from.slot, ID: n.ID, Generation: released})
		}
		m.warden.Grant(s, from.slot, n.ID, came)
		index := uint64(len(m.world.log) - 1)
		m.send(m, from, func() {
			if from.life == life {
				from.holder.Granted(asked, index)
				from.step()
			}
		})
		return true
	})
}

func (m *member) grant() {
	var rest []func() bool
	for _, w := range m.waiting {
		if !w() {
			rest = append(rest, w)
		}
	}
	m.waiting = rest
}

// elect makes a node the leader, if a majority hears it and it hears a majority.
func (m *member) elect() {
	var votes []*member
	for _, n := range m.nodes {
		if n.alive && !m.cut[[2]int{m.slot, n.slot}] && !m.cut[[2]int{n.slot, m.slot}] {
			votes = append(votes, n)
		}
	}
	if !m.alive || len(votes) <= len(m.nodes)/2 {
		return
	}
	m.world.epoch++
	m.elected++
	for _, n := range votes[:len(m.nodes)/2+1] {
		n.term = m.world.epoch
		if n != m {
			n.warden = nil
		}
	}
	m.epoch, m.term, m.waiting, m.quorum = m.world.epoch, m.world.epoch, nil, 0
	m.warden, m.leader = NewWarden(m.wait, m.clock()), m.slot
	m.apply(len(m.world.log))
}

// step does what the holder says. A chip takes a while, and so does the program.
func (m *member) step() {
	life := m.life
	s := m.holder.Next(m.clock())
	late := func(most time.Duration, run func()) {
		m.after(m.some(most), func() {
			if m.life == life && m.alive {
				run()
				m.step()
			}
		})
	}
	switch s.Kind {
	case StepStop, StepClear:
		m.write(s)
		m.holder.Done(s)
		m.step()
	case StepSet:
		m.holder.Begin(s)
		m.write(s)
		m.holder.Done(s)
		m.step()
	case StepRaise:
		late(2*lease, func() { m.holder.Raised(m.r.IntN(10) > 0) })
		m.step()
	case StepNone:
		if m.holder.Holding() { // wake when the lease ends, and somewhat late
			left := time.Duration(float64(m.holder.Until()-m.clock())/m.rate) + 1
			m.after(left+m.some(lease/2), func() {
				if m.life == life && m.alive && !m.holder.Live(m.clock()) && m.holder.Holding() {
					m.step()
				}
			})
		}
	}
}

// write gives the chips what a step has, and looks for a second holder.
func (m *member) write(s Step) {
	for n := range m.chips {
		has := n < Buckets && s.Owned.Has(n) || n == Speaker && s.Speak
		m.chips[n] = has
		for _, other := range m.nodes {
			if has && other != m && other.chips[n] {
				m.broken++
			}
		}
	}
}
