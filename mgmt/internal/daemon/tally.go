// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"maps"
	"sync"

	"sallyport/mgmt/internal/model"
)

// place is a network at a port.
type place struct {
	dev     string
	network int
}

// name is that of the metrics and of the log, as a model with those networks has it.
func (p place) name(networks map[int]*model.Model) string {
	if own := networks[p.network]; p.network != 0 && own != nil {
		return "vrf " + own.VRFName()
	}
	return p.dev
}

func placeOf(hop model.NextHop) place { return place{hop.Dev, hop.Network} }

// tally is, by place, how many hosts that Linux found have a row of their own, and how many have
// none for want of room.
type tally struct {
	installed map[place]int
	refused   map[place]int // they had none
	gone      map[place]int // they had one, and have given way to hosts of other networks
}

func newTally() tally { return tally{map[place]int{}, map[place]int{}, map[place]int{}} }

// most is the network of a port that has most rows.
func (c tally) most(dev string) place {
	most := place{dev: dev}
	for at, count := range c.installed {
		if at.dev == dev && count > c.installed[most] {
			most = at
		}
	}
	return most
}

// tallies count, by network, what found no room since the daemon started. They forget networks that
// there are no more. Their methods may run at once.
type tallies struct {
	mu      sync.Mutex
	now     tally
	gone    map[place]uint64
	unasked map[int]uint64 // packets whose flow was one too many
}

func newTallies() *tallies {
	return &tallies{now: newTally(), gone: map[place]uint64{}, unasked: map[int]uint64{}}
}

// see takes how many hosts of each network have rows.
func (c *tallies) see(now tally, networks map[int]*model.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	maps.DeleteFunc(c.gone, func(at place, _ uint64) bool { return networks[at.network] == nil })
	maps.DeleteFunc(c.unasked, func(network int, _ uint64) bool { return networks[network] == nil })
}

// gaveWay counts hosts that have lost their rows.
func (c *tallies) gaveWay(hosts map[place]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, count := range hosts {
		c.gone[at] += uint64(count)
	}
}

// refuse counts a packet of a network about which too many flows of the network keep the daemon
// from asking or telling.
func (c *tallies) refuse(network int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unasked[network]++
}

// counted are the hosts of now, and the counts so far.
func (c *tallies) counted() (now tally, gone map[place]uint64, unasked map[int]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, maps.Clone(c.gone), maps.Clone(c.unasked)
}
