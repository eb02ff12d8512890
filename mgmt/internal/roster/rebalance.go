// SPDX-License-Identifier: Apache-2.0

package roster

import (
	"cmp"
	"slices"
)

// rebalance gives each node that is up its share of the buckets, with the fewest moves: shares
// differ by at most one bucket, nodes that have more keep more, and a bucket moves only from a node
// that has too many. The same state gives the same result at every node.
func (s *State) rebalance() {
	able := map[int]bool{}
	for _, n := range s.Nodes {
		if n.Up && !n.Witness {
			able[n.Slot] = true
		}
	}
	count := map[int]int{}
	for n := range s.Places[:Buckets] {
		if owner := s.Places[n].Owner; able[owner] {
			count[owner]++
		}
	}
	slots := s.byCount(able, count)
	lacks := map[int]int{} // negative: how many it has too many
	for i, slot := range slots {
		share := Buckets / len(slots)
		if i < Buckets%len(slots) {
			share++
		}
		lacks[slot] = share - count[slot]
	}
	slices.Sort(slots)
	for n := range s.Places[:Buckets] {
		owner := s.Places[n].Owner
		switch {
		case able[owner] && lacks[owner] >= 0:
			continue
		case able[owner]:
			lacks[owner]++
		}
		s.give(n, heir(slots, lacks, s.Places[n].From))
	}
	if p := s.Places[Speaker]; !able[p.Owner] {
		next := None
		if len(slots) > 0 {
			next = slots[0]
		}
		if able[p.From] {
			next = p.From
		}
		s.give(Speaker, next)
	}
}

// byCount orders nodes by how many buckets they have, the most first.
func (s *State) byCount(able map[int]bool, count map[int]int) (slots []int) {
	for slot := range able {
		slots = append(slots, slot)
	}
	slices.SortFunc(slots, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return slots
}

// heir is the node that gets the next bucket: the one that has it still, if it lacks some.
func heir(slots []int, lacks map[int]int, from int) int {
	if lacks[from] > 0 {
		lacks[from]--
		return from
	}
	for _, slot := range slots {
		if lacks[slot] > 0 {
			lacks[slot]--
			return slot
		}
	}
	return None
}

// give makes a node the owner of a place. The owner of before has to let go first, unless it waits
// for another itself.
func (s *State) give(place, to int) {
	p := &s.Places[place]
	if p.Owner == to {
		return
	}
	if p.From == None {
		p.From = p.Owner
	}
	if p.From == to {
		p.From = None
	}
	p.Owner, p.Since = to, s.Generation
}
