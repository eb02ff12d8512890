// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/prefixes"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// networks brings VLANs to the networks that they are in.
//
// A VLAN whose network changes must not meet the policies of either network while those change too:
// half of a change might let a packet pass that neither the old nor the new policies let pass. So
// its row comes to say that no policy takes its packets, before all other writes, and leads to its
// network behind them. Where nothing else changes, one write does.
func (p *planner) networks() {
	have, want := p.old.Network, p.Target.Networks
	p.Image.Network = want
	others := len(p.Writes) > 0
	for _, id := range slices.Sorted(maps.Keys(union(have, want))) {
		if slices.Equal(have[id], want[id]) {
			continue
		}
		if others {
			p.add(Write{Phase: phaseApart, Chip: transport.Inner, Table: regs.InnerTableNetwork, Index: id, Row: compile.Blocked(have[id], want[id])})
		}
		p.add(Write{Phase: phaseNetworks, Chip: transport.Inner, Table: regs.InnerTableNetwork, Index: id, Row: want[id]})
	}
}

func union[V any](a, b map[int]V) map[int]bool {
	out := map[int]bool{}
	for key := range a {
		out[key] = true
	}
	for key := range b {
		out[key] = true
	}
	return out
}

// apart changes the trees of routes of VRFs. Linux's routes there are refused where there is no
// room, and those of network 0 give way to written ones.
func (w *wayWriter) apart() error {
	if w.dev != xfrm.Red {
		return nil
	}
	w.stands = w.stands || w.Target.Part == nil
	for network := 1; network < 1<<regs.NetworkRow.Network.Width; network++ {
		n, moved := w.of(network), w.Target.Moved[network]
		var err error
		switch {
		case w.Target.Part == nil:
			err = n.whole(w.Target.Apart[network])
		case moved == nil:
		case !moved.Treed:
			err = n.whole(nil)
		case len(n.hops()) == 0:
			err = n.whole(moved.All())
		default:
			err = n.all(n.moving(n.left(moved.Ways)))
		}
		if err != nil {
			return err
		}
		n.refuse(w.Target.NoWay[n.set()]...)
		n.refuse(n.refused...)
	}
	return nil
}

// of writes the trees of the VRF of a network.
func (w *wayWriter) of(network int) *wayWriter {
	return &wayWriter{planner: w.planner, dev: w.dev, ways: w.ways, stands: true, network: network, main: w}
}

// whole brings the trees of a VRF to some ways, and to no others.
func (w *wayWriter) whole(ways []compile.Way) error {
	have, ways := w.hops(), w.left(ways)
	named := map[netip.Prefix]bool{}
	for _, way := range ways {
		named[way.Prefix] = true
	}
	var changes []compile.Way
	for _, p := range slices.SortedFunc(maps.Keys(have), learned.Compare) {
		if !named[p] {
			changes = append(changes, compile.Way{Route: prefixes.Route{Prefix: p}, Linux: true})
		}
	}
	changes = append(changes, w.moving(ways)...)
	if len(changes) == 0 && (len(have) > 0 || !w.ways.Table.Has(w.network)) {
		return nil
	}
	return w.all(changes)
}

// left are those of some ways that have not given way in this change.
func (w *wayWriter) left(ways []compile.Way) []compile.Way {
	gone := map[netip.Prefix]bool{}
	for _, p := range w.Refused[w.set()] {
		gone[p] = true
	}
	return slices.DeleteFunc(slices.Clone(ways), func(way compile.Way) bool { return gone[way.Prefix] })
}

// refuse notes routes of Linux in the VRF of a network that are not on the chip.
func (w *wayWriter) refuse(routes ...netip.Prefix) {
	if len(routes) > 0 {
		w.Refused[w.set()] = append(w.Refused[w.set()], routes...)
	}
}

// leave takes all routes of Linux out of the trees of a VRF, by its inside, or nil if it is gone.
// False if there are none.
func (w *wayWriter) leave(own *model.Model) bool {
	var going []compile.Way
	var routes []netip.Prefix
	for _, p := range slices.SortedFunc(maps.Keys(w.hops()), learned.Compare) {
		if own != nil {
			if way, is := own.WayOf(xfrm.Red, p); is && !way.Linux {
				continue
			}
		}
		going = append(going, compile.Way{Route: prefixes.Route{Prefix: p}, Linux: true})
		routes = append(routes, p)
	}
	if len(going) == 0 || w.apply(going) != nil {
		return false
	}
	w.refuse(routes...)
	return true
}

// giveWay has routes of Linux make room for a written one of a VRF.
func (w *wayWriter) giveWay(way compile.Way) error {
	for s := (policyStep{wayWriter: w.main}); ; {
		err := w.apply([]compile.Way{way})
		switch {
		case !isFull(err):
			return err
		case !s.giveWay() && !w.emptyOther(-1, 0):
			return &compile.FullError{Err: xfrm.Errorf(xfrm.Pos{}, "no room for the routes of the VRF %s: %v", w.nameOf(w.network), err)}
		}
	}
}

// set is that of Linux's routes of the VRF whose network is written.
func (w *wayWriter) set() string {
	for _, v := range w.m.VRFs {
		if v.Number == w.network {
			return learned.OfTable(v.Table, v.Name)
		}
	}
	return ""
}

// nameOf is the name of the VRF of a network.
func (w *wayWriter) nameOf(network int) string {
	for _, v := range w.m.VRFs {
		if v.Number == network {
			return v.Name
		}
	}
	return ""
}

// clearRoutes takes all routes out of the trees, of all networks.
func (w *wayWriter) clearRoutes() {
	w.write(PhaseInsert, w.ways.Table.Clear())
	clear(w.ways.Apart)
}
