// SPDX-License-Identifier: Apache-2.0

// Package roster has the state that all nodes of a cluster agree on: who they are, and which of
// them has each bucket of frames (docs/decisions/0017). It knows neither the network nor chips, and
// takes the time from its callers.
package roster

import (
	"cmp"
	"fmt"
	"slices"
)

// Speaker is the place behind the buckets: the node that has it takes ARP, neighbour discovery and
// IKE. It moves as a bucket does, so that there is never a second one.
const Speaker = Buckets

// places are the buckets and the speaker's.
const places = Buckets + 1

// MostNodes is how many nodes a cluster has at most, those that only vote among them.
const MostNodes = 128

// None stands for no node.
const None = -1

// Node is a member.
type Node struct {
	Slot    int    `json:"slot"` // 0 to MostNodes - 1; of the sequence numbers, too
	ID      string `json:"id"`   // of the files that hold its votes
	Name    string `json:"name"` // in its certificate
	Address string `json:"address"`
	Version int    `json:"version"` // of the protocol
	// Witness says that it votes and takes no frames.
	Witness bool `json:"witness,omitempty"`
	// Up says that it may have places.
	Up bool `json:"up"`
}

// Place is one bucket, or the speaker's.
type Place struct {
	// Owner may take the frames once From is None.
	Owner int `json:"owner"`
	// From has to let go first, or to be dead for longer than its lease.
	From int `json:"from"`
	// Since is the generation that changed either.
	Since uint64 `json:"since"`
}

// State is what the nodes agree on. Changed makes the next one, and no reader sees it change.
type State struct {
	Cluster    string        `json:"cluster"` // empty: it is not founded yet
	Slots      int           `json:"slots"`   // of sequence numbers: a power of two
	Generation uint64        `json:"generation"`
	Nodes      []Node        `json:"nodes"` // by slot
	Places     [places]Place `json:"places"`
}

// New is the state before a cluster is founded.
func New() *State {
	s := &State{Nodes: []Node{}}
	for n := range s.Places {
		s.Places[n] = Place{Owner: None, From: None}
	}
	return s
}

func (s *State) clone() *State {
	c := *s
	c.Nodes = slices.Clone(s.Nodes)
	return &c
}

// At is the node in a slot.
func (s *State) At(slot int) (Node, bool) {
	i, found := s.find(slot)
	if !found {
		return Node{}, false
	}
	return s.Nodes[i], true
}

func (s *State) find(slot int) (int, bool) {
	return slices.BinarySearchFunc(s.Nodes, slot, func(n Node, slot int) int { return cmp.Compare(n.Slot, slot) })
}

// Of is the node with an ID, where the slot is that node's.
func (s *State) Of(slot int, id string) (Node, bool) {
	n, found := s.At(slot)
	return n, found && n.ID == id
}

// Holds are the buckets that a node may take the frames of.
func (s *State) Holds(slot int) (set Set) {
	for n := range Buckets {
		if s.Places[n].Owner == slot && s.Places[n].From == None {
			set.Put(n)
		}
	}
	return set
}

// Speaks says whether a node is the speaker.
func (s *State) Speaks(slot int) bool {
	p := s.Places[Speaker]
	return p.Owner == slot && p.From == None
}

// Releasing is how many places a node has to let go.
func (s *State) Releasing(slot int) (count int) {
	for _, p := range s.Places {
		if p.From == slot {
			count++
		}
	}
	return count
}

// check finds what no state of this package has; it is for states that come from a file or from
// another node.
func (s *State) check() error {
	if len(s.Nodes) > MostNodes {
		return fmt.Errorf("the roster has %d nodes, more than %d", len(s.Nodes), MostNodes)
	}
	for i, n := range s.Nodes {
		if i > 0 && s.Nodes[i-1].Slot >= n.Slot {
			return fmt.Errorf("the nodes of the roster are not in the order of their slots")
		}
		if err := s.checkNode(n); err != nil {
			return err
		}
	}
	for n, p := range s.Places {
		for _, slot := range []int{p.Owner, p.From} {
			if _, found := s.At(slot); slot != None && !found {
				return fmt.Errorf("place %d of the roster belongs to slot %d, which has no node", n, slot)
			}
		}
		if p.Owner == p.From && p.Owner != None {
			return fmt.Errorf("place %d of the roster moves from slot %d to the same", n, p.Owner)
		}
		if p.Since > s.Generation {
			return fmt.Errorf("place %d of the roster changed in generation %d, behind %d", n, p.Since, s.Generation)
		}
	}
	return nil
}
