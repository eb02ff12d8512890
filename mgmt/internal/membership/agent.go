// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"time"

	"sallyport/mgmt/internal/roster"
)

// beats asks the leader for the lease, twice a heartbeat, until the node ends.
func (n *Node) beats() {
	for {
		n.running.Go(n.ask)
		select {
		case <-n.ctx.Done():
			return
		case <-n.soon:
		case <-time.After(n.o.Heartbeat / 2):
		}
	}
}

// ask asks once. A request that is not answered within a heartbeat and a half is given up.
func (n *Node) ask() {
	ctx, cancel := context.WithTimeout(n.ctx, n.o.Heartbeat*3/2)
	defer cancel()
	leader, id := n.raft.LeaderWithID()
	if id == "" {
		return
	}
	asked, ask := n.o.Now(), beatAsk{Released: n.view.Load().released, Wants: n.wants.Load(), Digest: n.o.Digest()}
	var answer beatAnswer
	if string(id) == n.store.id {
		answer = n.beat(ctx, n.o.Slot, n.store.id, ask)
	} else if err := n.mesh.Call(ctx, string(leader), methodBeat, ask, &answer); err != nil {
		if n.ctx.Err() == nil {
			n.mesh.Warn("the leader of the cluster gives no lease", string(leader), err)
		}
		return
	}
	n.why.Store(answer.Why)
	if !answer.Granted {
		return
	}
	select {
	case n.grants <- grant{asked, answer.Index}:
	case <-n.ctx.Done():
	}
}

// beatSoon has the next beat come at once.
func (n *Node) beatSoon() {
	select {
	case n.soon <- struct{}{}:
	default:
	}
}

// view is what the agent shows of itself.
type view struct {
	buckets  int
	speaks   bool
	live     bool
	released uint64
	until    time.Duration
}

// agent does what the holder says.
type agent struct {
	*Node
	holder roster.Holder
	owned  roster.Set
	speaks bool
	raised chan bool
	quit   func() // of the raise that is under way
	live   bool
}

// steps has the chips follow the roster and the lease, until the node ends.
func (n *Node) steps() {
	a := &agent{Node: n, holder: roster.Holder{Slot: n.o.Slot, ID: n.store.id, Lease: leaseBeats * n.o.Heartbeat}, raised: make(chan bool, 1), quit: func() {}}
	defer func() { a.quit() }()
	for n.ctx.Err() == nil {
		for n.ctx.Err() == nil && a.step() {
		}
		a.show()
		wake := n.o.Heartbeat
		if a.live {
			wake = min(wake, max(a.holder.Until()-n.o.Now(), 0))
		}
		select {
		case <-n.ctx.Done():
		case g := <-n.grants:
			a.holder.Granted(g.asked, g.index)
		case <-n.machine.changed:
		case worked := <-a.raised:
			a.holder.Raised(worked)
		case <-time.After(wake):
		}
		k := n.machine.now.Load()
		a.holder.Applied(k.State, k.index)
	}
}

// step does one step. It says whether another may follow at once.
func (a *agent) step() bool {
	now := a.o.Now()
	s := a.holder.Next(now)
	a.tell(now)
	switch s.Kind {
	case roster.StepNone:
		return false
	case roster.StepRaise:
		a.raise(s)
		return true
	case roster.StepStop:
		a.quit()
		return a.done(s, a.o.Chips.Stop())
	}
	a.holder.Begin(s)
	return a.done(s, a.write(s))
}

// write has the chips take what a step says. What goes, goes first.
func (a *agent) write(s roster.Step) error {
	if a.speaks && !s.Speak {
		if err := a.o.Chips.SetSpeaker(false); err != nil {
			return err
		}
	}
	if a.owned != s.Owned {
		if err := a.o.Chips.SetOwned(s.Owned); err != nil {
			return err
		}
	}
	if !a.speaks && s.Speak {
		return a.o.Chips.SetSpeaker(true)
	}
	return nil
}

// done notes what a step did. A step that failed is followed by a stop, after a pause where that
// fails, too.
func (a *agent) done(s roster.Step, err error) bool {
	if err != nil {
		a.o.Log.Error("the chips do not take what the cluster gives this node", "error", err.Error())
		a.holder.Failed()
		return s.Kind != roster.StepStop
	}
	a.holder.Done(s)
	a.owned, a.speaks = s.Owned, s.Speak
	if a.holder.Released() > 0 {
		a.show()
		a.beatSoon()
	}
	return true
}

// raise makes the windows ready, while other steps go on.
func (a *agent) raise(s roster.Step) {
	ctx, quit := context.WithCancel(a.ctx)
	a.quit()
	a.quit = quit
	a.running.Go(func() {
		err := a.o.Chips.Raise(ctx, s.Owned)
		if err != nil && ctx.Err() == nil {
			a.o.Log.Error("the replay windows cannot be raised: this node takes no more buckets", "error", err.Error())
			select { // the next attempt does not come at once
			case <-time.After(a.o.Heartbeat):
			case <-ctx.Done():
			}
		}
		a.raised <- err == nil && ctx.Err() == nil
	})
}

// tell logs that the node has a lease, or has none any more.
func (a *agent) tell(now time.Duration) {
	live := a.holder.Live(now)
	if live == a.live {
		return
	}
	a.live = live
	if live {
		a.o.Log.Info("this node is in contact with the cluster")
	} else {
		a.o.Log.Error("this node has no contact with a majority of the cluster: it takes no frame", "lease", (leaseBeats * a.o.Heartbeat).String())
	}
}

func (a *agent) show() {
	v := &view{released: a.holder.Released(), live: a.live, until: a.holder.Until()}
	v.buckets, v.speaks = a.holder.Held()
	if before := a.view.Swap(v); before.buckets != v.buckets || before.speaks != v.speaks {
		a.o.Log.Info("this node has another share of the cluster's frames", "buckets", v.buckets, "speaker", v.speaks)
	}
}
