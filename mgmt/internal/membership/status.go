// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"time"

	"sallyport/mgmt/internal/roster"
)

// Status is what a node knows of its cluster.
type Status struct {
	Cluster string `json:"cluster"` // empty: it has not joined yet
	Slot    int    `json:"id"`
	Slots   int    `json:"slots"`
	Leader  string `json:"leader"` // its name; empty: none is known
	Live    bool   `json:"live"`   // the node has a lease
	// Left is how long the lease lasts.
	Left    time.Duration `json:"lease_left_ns"`
	Buckets int           `json:"buckets"` // that this node's chips have
	Speaker bool          `json:"speaker"`
	// Why says why the node gets no buckets.
	Why        string   `json:"why,omitempty"`
	Generation uint64   `json:"generation"`
	Nodes      []Member `json:"nodes"`
}

// Member is a node as the roster has it.
type Member struct {
	roster.Node
	Buckets   int  `json:"buckets"`   // that it may have
	Releasing int  `json:"releasing"` // that it has to let go
	Speaker   bool `json:"speaker"`
	Reached   bool `json:"reached"` // from this node, by itself or through others
}

// Status tells what this node knows.
func (n *Node) Status() Status {
	k, v := n.machine.now.Load(), n.view.Load()
	_, leader := n.raft.LeaderWithID()
	s := Status{
		Cluster: n.cluster.Load().(string), Slot: n.o.Slot, Slots: n.o.Slots, Live: v.live, Left: max(v.until-n.o.Now(), 0),
		Buckets: v.buckets, Speaker: v.speaks, Why: n.why.Load().(string), Generation: k.Generation, Nodes: []Member{},
	}
	seen := n.members.seen()
	for _, member := range k.Nodes {
		if member.ID == string(leader) {
			s.Leader = member.Name
		}
		s.Nodes = append(s.Nodes, Member{
			Node: member, Buckets: k.Holds(member.Slot).Count(), Releasing: k.Releasing(member.Slot), Speaker: k.Speaks(member.Slot), Reached: seen[member.Name],
		})
	}
	return s
}
