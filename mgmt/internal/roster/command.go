// SPDX-License-Identifier: Apache-2.0

package roster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Do is the kind of a command.
type Do string

// The commands.
const (
	Found    Do = "found"    // Node founds the cluster Cluster
	Admit    Do = "admit"    // Node becomes a member, or has another address
	Up       Do = "up"       // the node of Slot and ID may have places
	Down     Do = "down"     // that node holds nothing any more, for certain: it is dead
	Drain    Do = "drain"    // that node is to let go of all it has
	Released Do = "released" // that node has let go of all that it had to up to Generation
	Remove   Do = "remove"   // that node is a member no more
)

// Command is an entry of the log that all nodes have.
type Command struct {
	Do         Do     `json:"do"`
	Cluster    string `json:"cluster,omitempty"`
	Slots      int    `json:"slots,omitempty"`
	Node       *Node  `json:"node,omitempty"`
	Slot       int    `json:"slot"`
	ID         string `json:"id,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
}

// mostText is the longest name, ID or address, in bytes: a DNS name and a port.
const mostText = 260

// MostCommand is the longest encoded command, in bytes.
const MostCommand = 4 << 10

// Encode gives the bytes of a command.
func (c Command) Encode() []byte {
	text, _ := json.Marshal(c) // of strings and numbers: it never fails
	return text
}

// Decode reads a command.
func Decode(text []byte) (c Command, err error) {
	if len(text) > MostCommand {
		return c, fmt.Errorf("a command has %d bytes, more than %d", len(text), MostCommand)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return Command{}, fmt.Errorf("a command cannot be read: %w", err)
	}
	return c, nil
}

// Changed is the state after a command. A command that is refused changes nothing, and the error
// says why; one that has nothing to change gives the same state.
func (s *State) Changed(c Command) (*State, error) {
	next := s.clone()
	changed, err := next.run(c)
	if err != nil || !changed {
		return s, err
	}
	next.Generation++
	next.rebalance()
	return next, nil
}

func (s *State) run(c Command) (changed bool, err error) {
	if (s.Cluster == "") != (c.Do == Found) {
		if c.Do == Found {
			return false, errors.New("the cluster is founded already")
		}
		return false, errors.New("the cluster is not founded yet")
	}
	switch c.Do {
	case Found:
		if c.Cluster == "" || len(c.Cluster) > mostText {
			return false, errors.New("a cluster needs an identity")
		}
		if c.Slots < 2 || c.Slots > MostNodes || c.Slots&(c.Slots-1) != 0 {
			return false, fmt.Errorf("a cluster has 2 to %d slots, a power of two, and not %d", MostNodes, c.Slots)
		}
		s.Cluster, s.Slots = c.Cluster, c.Slots
		return s.admit(c.Node)
	case Admit:
		return s.admit(c.Node)
	}
	i, found := s.find(c.Slot)
	if !found || s.Nodes[i].ID != c.ID {
		return false, fmt.Errorf("slot %d is not the node's that the command %q names", c.Slot, c.Do)
	}
	return s.move(i, c)
}

// move changes what a member has.
func (s *State) move(i int, c Command) (changed bool, err error) {
	n := &s.Nodes[i]
	switch c.Do {
	case Up:
		changed, n.Up = !n.Up, true
	case Down:
		changed, n.Up = n.Up || s.Releasing(n.Slot) > 0, false
		s.free(n.Slot, s.Generation)
		s.disown(n.Slot)
	case Drain:
		changed, n.Up = n.Up, false
	case Released:
		return s.free(n.Slot, c.Generation), nil
	case Remove:
		if n.Up || s.Releasing(n.Slot) > 0 {
			return false, fmt.Errorf("slot %d is not empty: %s has to let its buckets go before", n.Slot, n.Name)
		}
		s.Nodes = slices.Delete(s.Nodes, i, i+1)
		return true, nil
	default:
		return false, fmt.Errorf("there is no command %q", c.Do)
	}
	return changed, nil
}

// free has a node let go of what it had to up to a generation.
func (s *State) free(slot int, upTo uint64) (changed bool) {
	for n := range s.Places {
		if p := &s.Places[n]; p.From == slot && p.Since <= upTo {
			p.From, p.Since, changed = None, s.Generation+1, true
		}
	}
	return changed
}

// disown takes a node's places away at once: it holds none any more.
func (s *State) disown(slot int) {
	for n := range s.Places {
		if p := &s.Places[n]; p.Owner == slot {
			p.Owner = None
		}
	}
}

// admit makes a node a member. A slot changes hands only to the same name, and only while the node
// before has nothing: so a box comes back with a new disk, and no other takes its slot.
func (s *State) admit(n *Node) (changed bool, err error) {
	if n == nil {
		return false, errors.New("a command to admit a node names none")
	}
	if err := s.checkNode(*n); err != nil {
		return false, err
	}
	node := *n
	node.Up = false
	i, taken := s.find(n.Slot)
	for _, other := range s.Nodes {
		if other.Slot != n.Slot && (other.Name == n.Name || other.ID == n.ID) {
			return false, fmt.Errorf("%s has slot %d already: give each box a name, a certificate and a state of its own", other.Name, other.Slot)
		}
	}
	if !taken {
		s.Nodes = slices.Insert(s.Nodes, i, node)
		return true, nil
	}
	before := s.Nodes[i]
	switch {
	case before.Name != n.Name:
		return false, fmt.Errorf("slot %d is that of %s: give %s another id, or remove %s from the cluster first", n.Slot, before.Name, n.Name, before.Name)
	case before.ID != n.ID && (before.Up || s.Releasing(n.Slot) > 0):
		return false, fmt.Errorf("slot %d is that of another %s, which is alive: two boxes have one certificate", n.Slot, n.Name)
	case before.ID == n.ID:
		node.Up = before.Up
	}
	s.Nodes[i] = node
	return node != before, nil
}

func (s *State) checkNode(n Node) error {
	switch {
	case n.Slot < 0 || n.Slot >= MostNodes:
		return fmt.Errorf("%d is no slot: slots are 0 to %d", n.Slot, MostNodes-1)
	case !n.Witness && n.Slot >= s.Slots:
		return fmt.Errorf("slot %d is not one of the cluster's %d: slots are 0 to %d", n.Slot, s.Slots, s.Slots-1)
	case n.ID == "" || n.Name == "" || len(n.ID) > mostText || len(n.Name) > mostText:
		return errors.New("a node needs a name and an identity")
	}
	if _, err := netip.ParseAddrPort(n.Address); err != nil || len(n.Address) > mostText {
		return fmt.Errorf("%.300q is not the address and port of a node", n.Address)
	}
	return nil
}
