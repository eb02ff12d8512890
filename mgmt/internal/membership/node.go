// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/mesh"
	"sallyport/mgmt/internal/roster"
)

// Node is a member of a cluster, or is to become one.
type Node struct {
	o       Options
	store   *store
	machine *machine
	mesh    *mesh.Mesh
	layer   *raftLayer
	raft    *raft.Raft
	peers   *raft.NetworkTransport
	gossip  *gossip
	members *members

	ctx     context.Context
	end     func()
	running sync.WaitGroup
	started chan struct{} // closed once the node can answer others

	cluster atomic.Value // string
	wants   atomic.Bool
	left    atomic.Bool
	why     atomic.Value // string: why the node gets no buckets; empty: it gets them
	grants  chan grant
	soon    chan struct{} // a beat is to come at once
	leads   atomic.Pointer[leadership]
	view    atomic.Pointer[view]
}

// grant is a lease, and when it was asked for.
type grant struct {
	asked time.Duration
	index uint64
}

// snapshots is how many are kept, and the others bound the log behind them.
const (
	snapshots         = 2
	snapshotThreshold = 512
	trailingLogs      = 256
	snapshotInterval  = time.Minute
)

// Start makes the node and has it join, until Close. It stops the chips before it does anything
// else.
func Start(o Options) (*Node, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.Chips.Stop(); err != nil {
		return nil, err
	}
	s, err := openStore(o.Folder)
	if err != nil {
		return nil, err
	}
	n := &Node{o: o, store: s, machine: newMachine(), grants: make(chan grant, 8), soon: make(chan struct{}, 1), started: make(chan struct{})}
	n.cluster.Store(s.cluster())
	n.why.Store("")
	n.view.Store(&view{})
	n.wants.Store(!o.Witness)
	n.ctx, n.end = context.WithCancel(context.Background())
	n.mesh = mesh.New(n.ctx, o.Listener, mesh.Rules{
		Identity: o.Identity, Hello: n.hello, Admits: n.admits, Answer: n.answer, Timeout: 2 * o.Heartbeat, Log: o.Log, Dial: o.Dial,
	})
	if err = n.startRaft(); err == nil {
		n.gossip = newGossip(n.ctx, n.mesh, o.Address)
		n.members, err = newMembers(n)
	}
	if err != nil {
		n.end()
		if n.raft != nil {
			_ = n.raft.Shutdown().Error()
		}
		return nil, errors.Join(err, s.close())
	}
	close(n.started)
	for _, run := range []func(){n.beats, n.steps, n.leading, n.joining, n.members.follow} {
		n.running.Go(run)
	}
	return n, nil
}

func (n *Node) startRaft() error {
	layer, end := context.WithCancel(n.ctx)
	n.layer = &raftLayer{mesh: n.mesh, address: n.o.Listener.Addr(), ctx: layer, end: end}
	log := raftLog(n.o.Log)
	n.peers = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: n.layer, MaxPool: 2, Timeout: 2 * n.o.Heartbeat, Logger: log,
	})
	kept, err := raft.NewFileSnapshotStoreWithLogger(filepath.Join(n.o.Folder, "roster"), snapshots, log)
	if err != nil {
		return fmt.Errorf("cannot make the folder of the cluster's state: %w", err)
	}
	c := raft.DefaultConfig()
	c.LocalID, c.Logger, c.NoLegacyTelemetry = raft.ServerID(n.store.id), log, true
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = n.o.Heartbeat, n.o.Heartbeat, n.o.Heartbeat
	c.CommitTimeout = n.o.Heartbeat / 10
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = snapshotInterval, snapshotThreshold, trailingLogs
	before, err := raft.HasExistingState(n.store, n.store, kept)
	if err != nil {
		return fmt.Errorf("the cluster's state in %s cannot be read: %w", n.o.Folder, err)
	}
	if n.o.Found && !before {
		if err := n.found(c, kept); err != nil {
			return err
		}
	}
	if n.raft, err = raft.NewRaft(c, n.machine, n.store, n.store, kept, n.peers); err != nil {
		return fmt.Errorf("the cluster's state in %s cannot be used: %w", n.o.Folder, err)
	}
	return nil
}

// found makes a cluster of this node alone.
func (n *Node) found(c *raft.Config, kept raft.SnapshotStore) error {
	cluster := n.store.id
	if err := n.store.setCluster(cluster); err != nil {
		return err
	}
	n.cluster.Store(cluster)
	alone := raft.Configuration{Servers: []raft.Server{{ID: c.LocalID, Address: raft.ServerAddress(n.o.Address.String())}}}
	return raft.BootstrapCluster(c, n.store, n.store, kept, n.peers, alone)
}

// self is this node as a member.
func (n *Node) self() roster.Node {
	return roster.Node{Slot: n.o.Slot, ID: n.store.id, Name: n.o.Name, Address: n.o.Address.String(), Version: n.o.Version, Witness: n.o.Witness}
}

// hello is what this node says of itself.
func (n *Node) hello() mesh.Hello {
	self := n.self()
	return mesh.Hello{Version: self.Version, Cluster: n.cluster.Load().(string), Slot: self.Slot, ID: self.ID, Name: self.Name, Address: self.Address}
}

// admits judges another node by what both say of themselves, and by the roster.
func (n *Node) admits(other mesh.Hello) error {
	own := n.hello()
	switch {
	case other.Slot < 0 || other.Slot >= roster.MostNodes:
		return fmt.Errorf("%s says that its id is %d: ids are 0 to %d", other.Name, other.Slot, roster.MostNodes-1)
	case other.Slot == own.Slot:
		return fmt.Errorf("%s and %s both have the id %d: give each node an id of its own", other.Name, own.Name, own.Slot)
	case other.Name == own.Name:
		return fmt.Errorf("two nodes have the name %s: give each a certificate of its own", own.Name)
	case other.Cluster != own.Cluster && other.Cluster != "" && own.Cluster != "":
		return fmt.Errorf("%s is of another cluster than %s: empty its folder of state if it is to join", other.Name, own.Name)
	case other.Purpose == mesh.Calls:
	case other.Cluster != own.Cluster:
		return fmt.Errorf("%s has not joined yet", other.Name)
	}
	member, taken := n.machine.now.Load().At(other.Slot)
	switch {
	case !taken:
	case member.Name != other.Name:
		return fmt.Errorf("the id %d is that of %s: give %s another id, or remove %s from the cluster first", other.Slot, member.Name, other.Name, member.Name)
	case member.ID != other.ID && other.Purpose != mesh.Calls:
		return fmt.Errorf("%s has lost its state and has to join anew", other.Name)
	}
	return nil
}

// answer answers another node.
func (n *Node) answer(ctx context.Context, from mesh.Hello, method string, body json.RawMessage) (any, error) {
	select {
	case <-n.started:
	default:
		return nil, errors.New("this node is starting, and answers in a moment")
	}
	switch method {
	case methodTerm:
		return termAnswer{n.raft.CurrentTerm()}, nil
	case methodBeat:
		ask, err := read[beatAsk](body)
		if err != nil {
			return nil, err
		}
		return n.beat(ctx, from.Slot, from.ID, ask), nil
	case methodJoin:
		ask, err := read[joinAsk](body)
		if err != nil {
			return nil, err
		}
		return n.join(from, ask)
	case methodRemove:
		ask, err := read[removeAsk](body)
		if err != nil {
			return nil, err
		}
		return n.remove(ask.Slot), nil
	}
	return nil, fmt.Errorf("there is no question %q", method)
}

// Close ends the node: it stops its chips, and then says nothing more. Drain before, so that others
// have its buckets first.
func (n *Node) Close() error {
	err := n.o.Chips.Stop()
	n.end()
	n.running.Wait()
	stopped := n.o.Chips.Stop() // a step may have been under way
	n.members.close()
	shut := n.raft.Shutdown().Error()
	n.running.Wait()
	return errors.Join(err, stopped, shut, n.peers.Close(), n.store.close())
}
