// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/roster"
)

// TestJoin: nodes that join get their shares, one after the other, and raise their windows before.
func TestJoin(t *testing.T) {
	r := newRig(t)
	for count := range 3 {
		r.box(count, 4).start()
		r.shared(r.boxes...)
	}
	if r.boxes[1].raises == 0 || r.boxes[2].raises == 0 {
		t.Error("buckets were taken without raised windows")
	}
	status := r.boxes[2].node.Status()
	if len(status.Nodes) != 3 || status.Leader == "" || !status.Live || status.Buckets < 85 || status.Cluster == "" {
		t.Errorf("%+v", status)
	}
}

// TestLeaderDies: the others take the buckets of a dead leader, one of them speaks, and the leader
// that comes back with its old state gets a share again.
func TestLeaderDies(t *testing.T) {
	for _, count := range []int{3, 5} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			r := cluster(t, count, 8)
			dead := r.leader()
			dead.stop()
			r.shared(r.others(dead)...)
			dead.start()
			r.shared(r.boxes...)
		})
	}
}

// TestSpeakerDies: another node speaks then, and goes on to when the first one is back.
func TestSpeakerDies(t *testing.T) {
	r := cluster(t, 3, 4)
	for _, b := range r.boxes {
		if r.speaks[b.slot] {
			b.stop()
			r.shared(r.others(b)...)
			b.start()
			r.shared(r.boxes...)
			if r.speaks[b.slot] {
				t.Error("the place of the speaker moved without need")
			}
			return
		}
	}
}

// TestMinority: two of five nodes go on with nothing once three have died; no majority, no frames.
func TestMinority(t *testing.T) {
	r := cluster(t, 5, 8)
	for _, b := range r.boxes[:3] {
		b.stop()
	}
	r.until("the rest stops", func() bool { return r.idle(3) && r.idle(4) })
	r.said(4, "has no contact with a majority of the cluster: it takes no frame")
	r.boxes[1].start()
	r.shared(r.boxes[1], r.boxes[3], r.boxes[4])
}

// TestLeave: a node that leaves gives its buckets away first, and the cluster needs it no more.
func TestLeave(t *testing.T) {
	r := cluster(t, 3, 4)
	leader := r.leader()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.must(leader.node.Leave(ctx))
	rest := r.others(leader)
	r.shared(rest...)
	leader.stop()
	r.until("the roster has two nodes", func() bool { return len(rest[0].node.Status().Nodes) == 2 })
	if err := rest[0].node.Remove(ctx, leader.slot); err == nil || !strings.Contains(err.Error(), "has no node with the id") {
		t.Errorf("a node was removed twice: %v", err)
	}
}

// TestDrain: a node that drains stays a member without buckets, and no bucket waits for a lease to
// end.
func TestDrain(t *testing.T) {
	r := cluster(t, 3, 4)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.must(r.boxes[1].node.Drain(ctx))
	r.shared(r.boxes[0], r.boxes[2])
	if r.logged("others take its buckets") {
		t.Error("a node that drained was taken for dead")
	}
	r.boxes[1].stop()
	r.boxes[1].start()
	r.shared(r.boxes...)
}

// TestWitness: of two boxes and a node that only votes, one box may die.
func TestWitness(t *testing.T) {
	r := newRig(t)
	one, other := r.box(0, 2), r.box(1, 2)
	witness := r.box(2, 2)
	witness.options.Witness = true
	for _, b := range r.boxes {
		b.start()
	}
	r.shared(one, other)
	r.until("all vote", func() bool { return r.voters() == 3 })
	one.stop()
	r.shared(other)
	if !r.idle(witness.slot) {
		t.Error("a witness has buckets")
	}
	one.start()
	r.shared(one, other)
	other.stop()
	r.shared(one)
}

// TestTwo: of two nodes alone neither goes on when the other dies.
func TestTwo(t *testing.T) {
	r := cluster(t, 2, 2)
	r.boxes[0].stop()
	r.until("the other one stops", func() bool { return r.idle(1) })
	r.boxes[0].start()
	r.shared(r.boxes...)
}

// voters is how many servers vote, as each node that runs knows: the leader alone may know a change
// that is lost with it.
func (r *rig) voters() int {
	least := roster.MostNodes
	for _, b := range r.boxes {
		if b.node == nil {
			continue
		}
		future, count := b.node.raft.GetConfiguration(), 0
		if future.Error() != nil {
			return 0
		}
		for _, server := range future.Configuration().Servers {
			if server.Suffrage == raft.Voter {
				count++
			}
		}
		least = min(least, count)
	}
	return least
}
