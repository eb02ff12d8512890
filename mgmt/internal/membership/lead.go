// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/roster"
)

// leadership is that of this node in one term. It gives leases only by what a majority has
// confirmed behind the request, and only by a roster that has all entries before it.
type leadership struct {
	*Node
	term uint64
	ctx  context.Context
	end  func()
	kick chan struct{} // a round is to come

	mu     sync.Mutex
	quorum time.Duration // the node led then, for certain
	passed chan struct{} // closed with the next quorum
	todo   map[int]beatAsk
	ids    map[int]string // of those in todo

	// Leases are given under the read lock, and entries are made under the other one: a lease knows
	// all entries that were made before it.
	order  sync.RWMutex
	sure   bool // no entry is in doubt
	warden *roster.Warden
}

// leading makes this node do a leader's duties whenever raft makes it the leader.
func (n *Node) leading() {
	for n.ctx.Err() == nil {
		if n.raft.State() == raft.Leader {
			n.lead(n.raft.CurrentTerm())
		}
		select {
		case <-n.ctx.Done():
		case <-n.raft.LeaderCh():
		case <-time.After(n.o.Heartbeat / 4):
		}
	}
}

// lead leads until the term ends.
func (n *Node) lead(term uint64) {
	l := &leadership{Node: n, term: term, kick: make(chan struct{}, 1), passed: make(chan struct{}), todo: map[int]beatAsk{}, ids: map[int]string{}}
	l.ctx, l.end = context.WithCancel(n.ctx)
	defer l.end()
	if n.raft.Barrier(waitBeats*n.o.Heartbeat).Error() != nil || !l.stands() {
		return
	}
	// A lease of an earlier leader was asked for before this one was elected.
	l.warden, l.sure = roster.NewWarden(waitBeats*n.o.Heartbeat, n.o.Now()), true
	n.leads.Store(l)
	defer n.leads.CompareAndSwap(l, nil)
	n.o.Log.Info("this node leads the cluster", "term", term)
	n.running.Go(l.rounds)
	for l.ctx.Err() == nil && l.stands() {
		l.duties()
		select {
		case <-l.ctx.Done():
		case <-time.After(n.o.Heartbeat / 4):
		}
	}
	n.o.Log.Info("this node does not lead the cluster any more", "term", term)
}

func (l *leadership) stands() bool {
	return l.raft.State() == raft.Leader && l.raft.CurrentTerm() == l.term
}

// rounds asks the voters for their term, at most four times a heartbeat, as long as leases wait.
func (l *leadership) rounds() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.kick:
		}
		l.running.Go(l.round)
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(l.o.Heartbeat / 8):
		}
	}
}

// round asks all voters once. A voter that has voted for another leader is in a later term, so a
// majority in this term, each behind the begin of the round, was led by this node at the begin.
func (l *leadership) round() {
	begun := l.o.Now()
	future := l.raft.GetConfiguration()
	if future.Error() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.o.Heartbeat)
	defer cancel()
	voters, votes := 0, make(chan bool, roster.MostNodes)
	for _, server := range future.Configuration().Servers {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if string(server.ID) == l.store.id {
			votes <- l.raft.CurrentTerm() == l.term
			continue
		}
		l.running.Go(func() {
			var answer termAnswer
			err := l.mesh.Call(ctx, string(server.Address), methodTerm, struct{}{}, &answer)
			votes <- err == nil && answer.Term == l.term
		})
	}
	yes := 0
	for range voters {
		if <-votes {
			yes++
		}
		if yes > voters/2 {
			l.confirm(begun)
			return
		}
	}
}

// confirm notes that the node led at a time.
func (l *leadership) confirm(at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at > l.quorum {
		l.quorum = at
		close(l.passed)
		l.passed = make(chan struct{})
	}
}

// led waits until a majority has confirmed that the node led at a time.
func (l *leadership) led(ctx context.Context, at time.Duration) bool {
	for {
		l.mu.Lock()
		quorum, passed := l.quorum, l.passed
		l.mu.Unlock()
		if quorum >= at {
			return true
		}
		select {
		case l.kick <- struct{}{}:
		default:
		}
		select {
		case <-passed:
		case <-ctx.Done():
			return false
		case <-l.ctx.Done():
			return false
		}
	}
}

// beat gives a node a lease, if this node is the leader.
func (n *Node) beat(ctx context.Context, slot int, id string, ask beatAsk) (answer beatAnswer) {
	came := n.o.Now()
	l := n.leads.Load()
	if l == nil {
		leader, _ := n.raft.LeaderWithID()
		return beatAnswer{Leader: string(leader)}
	}
	ctx, cancel := context.WithTimeout(ctx, n.o.Heartbeat)
	defer cancel()
	if !l.led(ctx, came) {
		return beatAnswer{}
	}
	l.order.RLock()
	defer l.order.RUnlock()
	k := n.machine.now.Load()
	member, known := k.Of(slot, id)
	if !known {
		return beatAnswer{Unknown: true}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	answer.Granted = l.sure && l.warden.Grant(k.State, slot, id, came)
	answer.Index = k.index
	if ask.Wants && !member.Up && ask.Digest != n.o.Digest() {
		why := fmt.Errorf("the configuration of %s differs from that of %s, which leads the cluster: load the same on both, then it gets its share", member.Name, n.o.Name)
		n.mesh.Warn("a node gets no buckets", member.Name, why)
		answer.Why, ask.Wants = why.Error(), false
	}
	l.todo[slot], l.ids[slot] = ask, id
	return answer
}

// duties brings the roster to what the beats say, and finds the dead.
func (l *leadership) duties() {
	if !l.settle() {
		return
	}
	if k := l.machine.now.Load(); k.Cluster == "" {
		self := l.self()
		_ = l.propose(roster.Command{Do: roster.Found, Cluster: l.cluster.Load().(string), Slots: l.o.Slots, Node: &self})
		return
	}
	l.mu.Lock()
	todo, ids := l.todo, l.ids
	l.todo, l.ids = map[int]beatAsk{}, map[int]string{}
	l.mu.Unlock()
	for slot, ask := range todo {
		for _, c := range wanted(l.machine.now.Load().State, slot, ids[slot], ask) {
			_ = l.propose(c)
		}
	}
	l.bury()
	l.reconcile(ids)
}

// wanted are the commands that a beat calls for.
func wanted(s *roster.State, slot int, id string, ask beatAsk) (list []roster.Command) {
	member, known := s.Of(slot, id)
	if !known || member.Witness {
		return nil
	}
	if ask.Released > 0 && s.Releasing(slot) > 0 {
		list = append(list, roster.Command{Do: roster.Released, Slot: slot, ID: id, Generation: ask.Released})
	}
	switch {
	case ask.Wants && !member.Up:
		list = append(list, roster.Command{Do: roster.Up, Slot: slot, ID: id})
	case !ask.Wants && member.Up:
		list = append(list, roster.Command{Do: roster.Drain, Slot: slot, ID: id})
	}
	return list
}

// bury gives away what the dead have. No lease is given meanwhile.
func (l *leadership) bury() {
	for _, member := range l.machine.now.Load().Nodes {
		l.order.Lock()
		for _, dead := range l.warden.Dead(l.machine.now.Load().State, l.o.Now()) {
			if dead.Slot == member.Slot && dead.ID == member.ID {
				l.o.Log.Error("a node of the cluster is silent: others take its buckets", "node", dead.Name, "id", dead.Slot)
				_ = l.enter(roster.Command{Do: roster.Down, Slot: dead.Slot, ID: dead.ID})
			}
		}
		l.order.Unlock()
	}
}

// settle makes certain which entries the log has, where one was in doubt.
func (l *leadership) settle() bool {
	l.order.Lock()
	defer l.order.Unlock()
	if !l.sure {
		l.sure = l.raft.Barrier(waitBeats*l.o.Heartbeat).Error() == nil && l.stands()
	}
	return l.sure
}

func (l *leadership) propose(c roster.Command) error {
	l.order.Lock()
	defer l.order.Unlock()
	return l.enter(c)
}

// errLost is of an entry that the log may have or not.
var errLost = errors.New("the cluster has lost its leader meanwhile: try again")

// enter makes an entry of the log. The caller has the lock of the order.
func (l *leadership) enter(c roster.Command) error {
	if !l.sure {
		return errLost
	}
	future := l.raft.Apply(c.Encode(), waitBeats*l.o.Heartbeat)
	if err := future.Error(); err != nil {
		l.sure = false
		return errLost
	}
	refused, _ := future.Response().(error)
	return refused
}
