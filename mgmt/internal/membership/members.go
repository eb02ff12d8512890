// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/memberlist"

	"sallyport/mgmt/internal/mesh"
)

// members is what memberlist knows: which nodes this one reaches, by itself or through others. It
// tells administrators of failures that a lease does not show, and brings nodes together again. No
// bucket moves by it.
type members struct {
	*Node
	list *memberlist.Memberlist
}

// meta is what a node tells of itself there.
type meta struct {
	Slot    int    `json:"slot"`
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
}

// reconnect is how many heartbeats lie between two attempts to reach a member that seems dead.
const reconnect = 10

func newMembers(n *Node) (*members, error) {
	m := &members{Node: n}
	c := memberlist.DefaultLANConfig()
	c.Name, c.Transport, c.Logger = n.o.Name, n.gossip, gossipLog(n.o.Log)
	c.AdvertiseAddr, c.AdvertisePort = n.o.Address.Addr().String(), int(n.o.Address.Port())
	c.ProbeInterval, c.ProbeTimeout = 2*n.o.Heartbeat, n.o.Heartbeat
	c.GossipInterval, c.TCPTimeout = n.o.Heartbeat, 4*n.o.Heartbeat
	c.PushPullInterval, c.DeadNodeReclaimTime = 40*n.o.Heartbeat, time.Millisecond
	c.EnableCompression, c.DNSConfigPath = false, ""
	c.Delegate, c.Events, c.Alive, c.Conflict = m, m, m, m
	var err error
	if m.list, err = memberlist.Create(c); err != nil {
		return nil, fmt.Errorf("the cluster's members cannot be followed: %w", err)
	}
	return m, nil
}

// follow reaches for members that memberlist does not have.
func (m *members) follow() {
	told := ""
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(reconnect * m.o.Heartbeat):
		}
		if cluster := m.cluster.Load().(string); cluster != told && m.list.UpdateNode(m.o.Heartbeat) == nil {
			told = cluster
		}
		seen := m.seen()
		for _, member := range m.machine.now.Load().Nodes {
			if !seen[member.Name] && member.Slot != m.o.Slot && m.ctx.Err() == nil {
				_, _ = m.list.Join([]string{member.Address}) // follow comes back to it
			}
		}
	}
}

// seen are the names of the nodes that memberlist takes for alive.
func (m *members) seen() map[string]bool {
	seen := map[string]bool{}
	for _, node := range m.list.Members() {
		seen[node.Name] = true
	}
	return seen
}

func (m *members) close() { _ = m.list.Shutdown() }

// NodeMeta is what this node tells of itself.
func (m *members) NodeMeta(limit int) []byte {
	text, _ := json.Marshal(meta{m.o.Slot, m.store.id, m.cluster.Load().(string)})
	if len(text) > limit {
		return nil
	}
	return text
}

// NotifyAlive refuses nodes that are not of this cluster, or not those of the roster.
func (m *members) NotifyAlive(node *memberlist.Node) error {
	var other meta
	if err := json.Unmarshal(node.Meta, &other); err != nil {
		return fmt.Errorf("%s does not say which node it is", node.Name)
	}
	if node.Name == m.o.Name {
		return nil
	}
	return m.admits(mesh.Hello{Purpose: mesh.Calls, Name: node.Name, Slot: other.Slot, ID: other.ID, Cluster: other.Cluster})
}

// NotifyConflict is of two nodes with one name.
func (m *members) NotifyConflict(existing, other *memberlist.Node) {
	m.mesh.Warn("two nodes of the cluster have one name", existing.Name, fmt.Errorf("they are at %s and %s: give each a certificate of its own", existing.Address(), other.Address()))
}

// NotifyJoin is of a node that is reached.
func (m *members) NotifyJoin(node *memberlist.Node) {
	if node.Name != m.o.Name {
		m.o.Log.Info("a node of the cluster is reached", "node", node.Name, "address", node.Address())
	}
}

// NotifyLeave is of a node that is reached no more.
func (m *members) NotifyLeave(node *memberlist.Node) {
	if node.Name != m.o.Name {
		m.o.Log.Warn("a node of the cluster is not reached any more", "node", node.Name, "address", node.Address())
	}
}

// NotifyUpdate is of no use here, nor are the next four.
func (m *members) NotifyUpdate(*memberlist.Node) {}

// NotifyMsg takes a message; nodes send none.
func (m *members) NotifyMsg([]byte) {}

// GetBroadcasts has none.
func (m *members) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState is empty.
func (m *members) LocalState(bool) []byte { return nil }

// MergeRemoteState takes nothing.
func (m *members) MergeRemoteState([]byte, bool) {}
