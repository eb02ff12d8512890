// SPDX-License-Identifier: Apache-2.0

// Package membership makes boxes one cluster (docs/decisions/0017): memberlist finds who is there,
// raft agrees on the roster, and leases see to it that a node which is cut off stops by itself
// before others take its buckets.
package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/mesh"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/roster"
)

// Chips are a node's chips. Calls come one behind the other, but for Raise: Stop and SetOwned may
// come while it runs. None of them but Raise may wait for long.
type Chips interface {
	// SetOwned has the chips take the frames of some buckets, and of no others.
	SetOwned(roster.Set) error
	// SetSpeaker has them take ARP, neighbour discovery and IKE, or not.
	SetSpeaker(bool) error
	// Raise makes the replay windows ready for buckets that another node had: of numbers that it
	// may have accepted up to now, none is accepted again. The end of ctx says that it is in vain.
	Raise(ctx context.Context, gained roster.Set) error
	// Stop has them take no frame.
	Stop() error
}

// Options are those of a node.
type Options struct {
	Slot, Slots int
	Name        string // in its certificate
	Witness     bool   // it votes, and has no chips
	// Listener is the cluster's port, and Address where others reach it.
	Listener net.Listener
	Address  netip.AddrPort
	// Join are addresses of some nodes of the cluster.
	Join []string
	// Found says that this node founds the cluster. It counts once: not with a Folder of before.
	Found bool
	// Folder keeps the votes, the log and the identity.
	Folder   string
	Identity func() *mutual.Identity
	// Digest stands for what all nodes have to have configured alike. A node with another one than
	// the leader gets no buckets.
	Digest func() string
	// Heartbeat is how often a node asks for its lease, twice. A lease lasts leaseBeats of them.
	Heartbeat time.Duration
	Chips     Chips
	Log       *slog.Logger

	// Version is that of the protocol; 0: this program's.
	Version int
	// Dial opens connections; nil: by TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Now is a monotonic clock; nil: that of the machine.
	Now func() time.Duration
}

// A lease lasts leaseBeats heartbeats from the moment at which a node asks for it. The leader gives
// a silent node's buckets away waitBeats behind the last request that it granted. Meanwhile the
// node's clock may run slower, and its program may be late.
const (
	leaseBeats = 3
	waitBeats  = 6
)

// LeastHeartbeat is the shortest; a shorter one would mistake a busy machine for a dead one.
const LeastHeartbeat = 50 * time.Millisecond

// mostVoters is how many nodes vote at most: a majority of them is what a lease needs. Others take
// the place of voters that leave.
const mostVoters = 7

func (o *Options) check() error {
	switch {
	case o.Heartbeat < LeastHeartbeat:
		return fmt.Errorf("a heartbeat of %v is too short: it has to be %v or longer", o.Heartbeat, LeastHeartbeat)
	case o.Name == "":
		return errors.New("a node needs a name, that of its certificate")
	case !o.Address.IsValid() || o.Address.Addr().IsUnspecified() || o.Address.Port() == 0:
		return fmt.Errorf("other nodes cannot reach %q: name an address of this box, and a port", o.Address.String())
	case len(o.Join) == 0 && !o.Found:
		return errors.New("a node needs the address of another node of its cluster")
	}
	if o.Version == 0 {
		o.Version = mesh.Version
	}
	if o.Now == nil {
		o.Now = clock.Monotonic
	}
	return nil
}

// The questions of nodes, and their answers.
const (
	methodTerm   = "term"   // to a voter: nothing, termAnswer
	methodBeat   = "beat"   // to the leader: beatAsk, beatAnswer
	methodJoin   = "join"   // to any node: joinAsk, joinAnswer
	methodRemove = "remove" // to the leader: removeAsk, removeAnswer
)

type termAnswer struct {
	Term uint64 `json:"term"`
}

// beatAsk asks for a lease.
type beatAsk struct {
	// Released is the generation up to which the node has let go of all that it had to.
	Released uint64 `json:"released,omitempty"`
	// Wants says that the node is to have buckets.
	Wants  bool   `json:"wants"`
	Digest string `json:"digest"`
}

type beatAnswer struct {
	Granted bool   `json:"granted"`
	Index   uint64 `json:"index,omitempty"`  // of the roster that the lease needs
	Leader  string `json:"leader,omitempty"` // another one's address
	Unknown bool   `json:"unknown,omitempty"`
	Why     string `json:"why,omitempty"` // the node gets no buckets
}

type joinAsk struct {
	Node   roster.Node `json:"node"`
	Slots  int         `json:"slots"`
	Digest string      `json:"digest"`
}

type joinAnswer struct {
	Cluster string `json:"cluster,omitempty"`
	Leader  string `json:"leader,omitempty"`
}

type removeAsk struct {
	Slot int `json:"slot"`
}

type removeAnswer struct {
	Again bool   `json:"again,omitempty"` // the node asked does not lead, or not for long
	Gone  bool   `json:"gone,omitempty"`  // there is no such node
	Why   string `json:"why,omitempty"`
}

func (a removeAnswer) err() error {
	if a.Why == "" {
		return nil
	}
	return errors.New(mesh.Line(a.Why))
}

// read reads the body of a question.
func read[T any](body json.RawMessage) (ask T, err error) {
	err = json.Unmarshal(body, &ask)
	return ask, err
}
