// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// candidate is a host that is to have a row of its own, and when Linux last looked for it.
type candidate struct {
	hop  model.NextHop
	mac  xfrm.MAC
	seen time.Time // zero: Linux does not know it
}

// hosts are those that the box is to know: those that rows lead to, and those that are to have rows
// of their own.
func (n *neighbours) hosts(m *model.Model, before map[model.NextHop]xfrm.MAC, wanted []model.NextHop) (map[model.NextHop]xfrm.MAC, tally) {
	learned, out, room := map[model.NextHop]xfrm.MAC{}, newTally(), map[string]int{}
	for _, dev := range model.Devices {
		room[dev] = n.daemon.session.HostRoom(m, dev)
	}
	for _, hop := range wanted {
		mac, known := n.mac(hop)
		if !known {
			mac, known = before[hop]
		}
		if !known {
			continue
		}
		if learned[hop] = mac; n.resolves(hop) {
			room[hop.Dev]--
			out.installed[placeOf(hop)]++
		}
	}
	had, further := n.candidates(learned, before)
	for _, dev := range model.Devices {
		share(learned, had[dev], further[dev], room[dev], out)
	}
	n.warn(out)
	return learned, out
}

// candidates are, by device, the hosts that have rows of their own, unless they do not answer, and
// further ones that Linux knows. Written hosts are none: they have rows anyhow, and what Linux
// knows of them is learned at once.
func (n *neighbours) candidates(learned, before map[model.NextHop]xfrm.MAC) (had, further map[string][]candidate) {
	had, further = map[string][]candidate{}, map[string][]candidate{}
	add := func(to map[string][]candidate, hop model.NextHop, mac xfrm.MAC) {
		switch _, has := learned[hop]; {
		case has || !n.resolves(hop):
		case n.written[hop]:
			learned[hop] = mac
		default:
			to[hop.Dev] = append(to[hop.Dev], candidate{hop, mac, n.seen[hop]})
		}
	}
	for hop, mac := range before {
		if n.failed[hop] {
			continue
		}
		if now, known := n.mac(hop); known {
			mac = now
		}
		add(had, hop, mac)
	}
	for at, mac := range n.known {
		hop, ours := n.hopOf(at)
		if _, has := before[hop]; has && !n.failed[hop] {
			continue
		}
		if place, reached := n.heardAt(hop); ours && reached && place == at {
			add(further, hop, mac)
		}
	}
	return had, further
}

// share adds the hosts of a device that are to have rows of their own to those that are learned.
// While there is room these are all. Then the network that has most gives way to those with fewer,
// by the host that Linux has seen longest ago. `out` tells what each network has.
func share(learned map[model.NextHop]xfrm.MAC, had, further []candidate, room int, out tally) {
	give := func(hop model.NextHop, mac xfrm.MAC) {
		learned[hop] = mac
		out.installed[placeOf(hop)]++
	}
	if len(had)+len(further) <= room {
		for _, c := range slices.Concat(had, further) {
			give(c.hop, c.mac)
		}
		return
	}
	rows, turns := placesOf[xfrm.MAC](room), placesOf[xfrm.MAC](len(further))
	slices.SortFunc(had, func(a, b candidate) int { return a.seen.Compare(b.seen) })
	for _, c := range had {
		rows.Put(c.hop, c.mac)
	}
	for _, c := range further {
		turns.Put(c.hop, c.mac)
	}
	for hop, mac := range turns.All() {
		rows.Offer(hop, mac)
	}
	for hop, mac := range rows.All() {
		give(hop, mac)
	}
	without := func(these []candidate, counts map[place]int) {
		for _, c := range these {
			if _, has := rows.Get(c.hop); !has {
				counts[placeOf(c.hop)]++
			}
		}
	}
	without(had, out.gone)
	without(further, out.refused)
}

// warn writes into the log once that a table of hosts is full, as long as it is.
func (n *neighbours) warn(out tally) {
	full := map[string]bool{}
	for _, counts := range []map[place]int{out.gone, out.refused} {
		for at := range counts {
			full[at.dev] = true
		}
	}
	for dev := range full {
		if !n.full[dev] {
			most := out.most(dev)
			n.daemon.log.Warn("no room for all hosts on "+dev+": the network that has most of them gives way", "network", most.name(n.insides), "hosts", out.installed[most])
		}
	}
	n.full = full
}
