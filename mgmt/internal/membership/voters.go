// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/roster"
)

// reconcile makes raft's servers those of the roster, one change at a time. A new node first
// follows the log. It votes once it asks for leases, so a node that never comes up costs no
// majority.
func (l *leadership) reconcile(beating map[int]string) {
	future := l.raft.GetConfiguration()
	if future.Error() != nil {
		return
	}
	servers, voters := map[raft.ServerID]raft.Server{}, 0
	for _, server := range future.Configuration().Servers {
		servers[server.ID] = server
		if server.Suffrage == raft.Voter {
			voters++
		}
	}
	for _, member := range l.machine.now.Load().Nodes {
		id, address := raft.ServerID(member.ID), raft.ServerAddress(member.Address)
		server, there := servers[id]
		delete(servers, id)
		switch {
		case there && server.Suffrage == raft.Voter && server.Address == address:
		case there && server.Suffrage == raft.Voter:
			l.change(l.raft.AddVoter(id, address, 0, l.patience()), "a node has another address", member)
			return
		case there && beating[member.Slot] == member.ID && voters < mostVoters:
			l.change(l.raft.AddVoter(id, address, 0, l.patience()), "a node votes", member)
			return
		case !there || server.Address != address:
			l.change(l.raft.AddNonvoter(id, address, 0, l.patience()), "a node follows the cluster", member)
			return
		}
	}
	for id := range servers {
		l.change(l.raft.RemoveServer(id, 0, l.patience()), "a node is a member no more", roster.Node{ID: string(id)})
		return
	}
}

func (l *leadership) change(future raft.IndexFuture, what string, member roster.Node) {
	if future.Error() == nil {
		l.o.Log.Info(what, "node", member.Name, "id", member.Slot)
	}
}
