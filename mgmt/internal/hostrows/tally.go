// SPDX-License-Identifier: Apache-2.0

package hostrows

import (
	"maps"
	"sync"

	"sallyport/mgmt/internal/model"
)

// Place is a network at a port.
type Place struct {
	Dev     string
	Network int
}

// Name is that of the metrics and of the log, as a model with those networks has it.
func (p Place) Name(networks map[int]*model.Model) string {
	if own := networks[p.Network]; p.Network != 0 && own != nil {
		return "vrf " + own.VRFName()
	}
	return p.Dev
}

// PlaceOf is that of a host.
func PlaceOf(hop model.NextHop) Place { return Place{hop.Dev, hop.Network} }

// Tally is, by place, how many hosts that Linux found have a row of their own, and how many have
// none for want of room.
type Tally struct {
	Installed map[Place]int
	Refused   map[Place]int // they had none
	Gone      map[Place]int // they had one, and have given way to hosts of other networks
}

// NewTally makes one of nothing.
func NewTally() Tally { return Tally{map[Place]int{}, map[Place]int{}, map[Place]int{}} }

// Most is the network of a port that has most rows.
func (c Tally) Most(dev string) Place {
	most := Place{Dev: dev}
	for at, count := range c.Installed {
		if at.Dev == dev && count > c.Installed[most] {
			most = at
		}
	}
	return most
}

// Tallies count, by network, what found no room since the daemon started. They forget networks that
// there are no more. Their methods may run at once.
type Tallies struct {
	mu      sync.Mutex
	now     Tally
	gone    map[Place]uint64
	unasked map[int]uint64 // packets whose flow was one too many
}

// NewTallies makes them, all 0.
func NewTallies() *Tallies {
	return &Tallies{now: NewTally(), gone: map[Place]uint64{}, unasked: map[int]uint64{}}
}

// See takes how many hosts of each network have rows.
func (c *Tallies) See(now Tally, networks map[int]*model.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	maps.DeleteFunc(c.gone, func(at Place, _ uint64) bool { return networks[at.Network] == nil })
	maps.DeleteFunc(c.unasked, func(network int, _ uint64) bool { return networks[network] == nil })
}

// GaveWay counts hosts that have lost their rows.
func (c *Tallies) GaveWay(hosts map[Place]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, count := range hosts {
		c.gone[at] += uint64(count)
	}
}

// Refuse counts a packet of a network about which too many flows of the network keep the daemon
// from asking or telling.
func (c *Tallies) Refuse(network int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unasked[network]++
}

// Counted are the hosts of now, and the counts so far.
func (c *Tallies) Counted() (now Tally, gone map[Place]uint64, unasked map[int]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, maps.Clone(c.gone), maps.Clone(c.unasked)
}
