// SPDX-License-Identifier: Apache-2.0

// Package hostrows says which hosts that Linux found get the rows of a chip's table of hosts, and
// counts those that find no room. Networks apart share the rows.
package hostrows

import (
	"slices"
	"time"

	"sallyport/mgmt/internal/fair"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// ByNetwork are hosts that share places among their networks, those of each port apart.
type ByNetwork[V any] = fair.Places[Place, model.NextHop, V]

// PlacesOf makes so many places.
func PlacesOf[V any](most int) *ByNetwork[V] {
	return fair.New[Place, model.NextHop, V](most, PlaceOf)
}

// Candidate is a host that is to have a row of its own, and when Linux last looked for it.
type Candidate struct {
	Hop  model.NextHop
	MAC  xfrm.MAC
	Seen time.Time // zero: Linux does not know it
}

// Share adds the hosts of a device that are to have rows of their own to those that are learned.
// While there is room these are all. Then the network that has most gives way to those with fewer,
// by the host that Linux has seen longest ago. `out` tells what each network has.
func Share(learned map[model.NextHop]xfrm.MAC, had, further []Candidate, room int, out Tally) {
	give := func(hop model.NextHop, mac xfrm.MAC) {
		learned[hop] = mac
		out.Installed[PlaceOf(hop)]++
	}
	if len(had)+len(further) <= room {
		for _, c := range slices.Concat(had, further) {
			give(c.Hop, c.MAC)
		}
		return
	}
	rows, turns := PlacesOf[xfrm.MAC](room), PlacesOf[xfrm.MAC](len(further))
	slices.SortFunc(had, func(a, b Candidate) int { return a.Seen.Compare(b.Seen) })
	for _, c := range had {
		rows.Put(c.Hop, c.MAC)
	}
	for _, c := range further {
		turns.Put(c.Hop, c.MAC)
	}
	for hop, mac := range turns.All() {
		rows.Offer(hop, mac)
	}
	for hop, mac := range rows.All() {
		give(hop, mac)
	}
	without := func(these []Candidate, counts map[Place]int) {
		for _, c := range these {
			if _, has := rows.Get(c.Hop); !has {
				counts[PlaceOf(c.Hop)]++
			}
		}
	}
	without(had, out.Gone)
	without(further, out.Refused)
}
