// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/mesh"
	"sallyport/mgmt/internal/roster"
)

func (n *Node) patience() time.Duration { return waitBeats * n.o.Heartbeat }

// joining has this node join, and join anew with another address, until it has a lease.
func (n *Node) joining() {
	for n.ctx.Err() == nil {
		if !n.left.Load() && !n.settled() {
			n.joinAny()
		}
		select {
		case <-n.ctx.Done():
		case <-time.After(n.o.Heartbeat):
		}
	}
}

// settled says that the roster has this node as it is, and that it has a lease.
func (n *Node) settled() bool {
	member, known := n.machine.now.Load().Of(n.o.Slot, n.store.id)
	return known && member.Address == n.o.Address.String() && n.view.Load().live
}

// joinAny asks the nodes that it knows, until one of them takes it.
func (n *Node) joinAny() {
	list := slices.Clone(n.o.Join)
	for _, member := range n.machine.now.Load().Nodes {
		list = append(list, member.Address)
	}
	slices.Sort(list)
	for _, address := range slices.Compact(list) {
		if address == n.o.Address.String() || n.ctx.Err() != nil {
			continue
		}
		if n.joinAt(address) {
			return
		}
	}
	if n.leads.Load() != nil { // a founder, or one whose address has changed
		_, _ = n.join(n.hello(), joinAsk{n.self(), n.o.Slots, n.o.Digest()})
	}
}

// joinAt asks one node, and the leader that it names.
func (n *Node) joinAt(address string) bool {
	ctx, cancel := context.WithTimeout(n.ctx, n.patience())
	defer cancel()
	ask := joinAsk{n.self(), n.o.Slots, n.o.Digest()}
	for range 2 {
		var answer joinAnswer
		err := n.mesh.Call(ctx, address, methodJoin, ask, &answer)
		switch {
		case n.ctx.Err() != nil || mesh.IsSelf(err):
			return false
		case err != nil:
			n.mesh.Warn("this node could not join the cluster", address, err)
			return false
		case answer.Cluster != "":
			return n.joined(answer.Cluster)
		case answer.Leader == "" || answer.Leader == address:
			return false
		}
		address = answer.Leader
	}
	return false
}

func (n *Node) joined(cluster string) bool {
	if n.cluster.Load().(string) != cluster {
		if err := n.store.setCluster(cluster); err != nil {
			n.mesh.Warn("the cluster's state cannot be written", n.o.Name, err)
			return false
		}
		n.cluster.Store(cluster)
		n.o.Log.Info("this node has joined the cluster", "id", n.o.Slot)
	}
	return true
}

// join makes another node a member, or says why not.
func (n *Node) join(from mesh.Hello, ask joinAsk) (joinAnswer, error) {
	l := n.leads.Load()
	if l == nil {
		leader, _ := n.raft.LeaderWithID()
		return joinAnswer{Leader: string(leader)}, nil
	}
	err := l.mayJoin(from, ask)
	if err == nil {
		err = l.admit(ask.Node)
	}
	if err == nil {
		return joinAnswer{Cluster: n.machine.now.Load().Cluster}, nil
	}
	n.mesh.Warn("a node was refused", from.Name, err)
	return joinAnswer{}, err
}

// mayJoin says why a node cannot be a member.
func (l *leadership) mayJoin(from mesh.Hello, ask joinAsk) error {
	member := ask.Node
	_, known := l.machine.now.Load().Of(member.Slot, member.ID)
	switch {
	case member.Slot != from.Slot || member.ID != from.ID || member.Name != from.Name:
		return fmt.Errorf("%s asks for another node than itself", from.Name)
	case ask.Slots != l.o.Slots:
		return fmt.Errorf("%s is configured for a cluster of %d slots, and %s for %d: write the same number on both", from.Name, ask.Slots, l.o.Name, l.o.Slots)
	case !known && !member.Witness && ask.Digest != l.o.Digest():
		return fmt.Errorf("the configuration of %s differs from that of %s, which leads the cluster: load the same on both, then it joins", from.Name, l.o.Name)
	}
	return nil
}

// admit enters a member into the roster, unless it is there as it is.
func (l *leadership) admit(member roster.Node) error {
	before, known := l.machine.now.Load().Of(member.Slot, member.ID)
	if member.Up = before.Up; known && member == before {
		return nil
	}
	return l.propose(roster.Command{Do: roster.Admit, Node: &member})
}

// Drain has other nodes take this node's buckets, until ctx ends. It stays a member.
func (n *Node) Drain(ctx context.Context) error {
	n.wants.Store(false)
	n.beatSoon()
	for {
		member, known := n.machine.now.Load().At(n.o.Slot)
		v := n.view.Load()
		if (!known || !member.Up) && v.buckets == 0 && !v.speaks && v.released == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the other nodes have not taken the buckets of this node in time")
		case <-time.After(n.o.Heartbeat / 8):
		}
	}
}

// Leave takes this node out of the cluster. It ends with ctx.
func (n *Node) Leave(ctx context.Context) error {
	if len(n.machine.now.Load().Nodes) < 2 {
		return errors.New("the last node cannot leave its cluster")
	}
	if err := n.Drain(ctx); err != nil {
		return err
	}
	n.left.Store(true)
	return n.Remove(ctx, n.o.Slot)
}

// Remove takes a node out of the cluster that is dead or drained.
func (n *Node) Remove(ctx context.Context, slot int) error {
	for {
		if slot == n.o.Slot && n.raft.State() == raft.Leader {
			_ = n.raft.LeadershipTransfer().Error() // none removes itself
		}
		leader, id := n.raft.LeaderWithID()
		answer, err := removeAnswer{Again: true}, errors.New("the cluster has no leader")
		switch {
		case id == "":
		case string(id) != n.store.id:
			answer = removeAnswer{}
			err = n.mesh.Call(ctx, string(leader), methodRemove, removeAsk{slot}, &answer)
		case slot != n.o.Slot:
			answer, err = n.remove(slot), nil
		}
		if err == nil && !answer.Again {
			if answer.Gone && slot == n.o.Slot { // an answer before was lost
				return nil
			}
			return answer.err()
		}
		select {
		case <-ctx.Done():
			return cmp.Or(err, errLost)
		case <-time.After(n.o.Heartbeat / 2):
		}
	}
}

// remove takes a node out of the roster; the leader's raft follows.
func (n *Node) remove(slot int) removeAnswer {
	l := n.leads.Load()
	if l == nil {
		return removeAnswer{Again: true}
	}
	member, known := n.machine.now.Load().At(slot)
	if !known {
		return removeAnswer{Gone: true, Why: fmt.Sprintf("the cluster has no node with the id %d", slot)}
	}
	switch err := l.propose(roster.Command{Do: roster.Remove, Slot: slot, ID: member.ID}); {
	case errors.Is(err, errLost):
		return removeAnswer{Again: true}
	case err != nil:
		return removeAnswer{Why: err.Error()}
	}
	return removeAnswer{}
}
