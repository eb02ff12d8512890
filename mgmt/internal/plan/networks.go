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
// its row comes to lead to [model.EmptyNetwork], where its packets are dropped, before all other
// writes, and to its network behind them. Where nothing else changes, one write does.
func (p *planner) networks() {
	have, want := p.old.Network, p.Target.Networks
	p.Image.Network = want
	others := len(p.Writes) > 0
	for _, id := range slices.Sorted(maps.Keys(union(have, want))) {
		if slices.Equal(have[id], want[id]) {
			continue
		}
		if others {
			p.add(Write{Phase: phaseApart, Chip: transport.Inner, Table: regs.InnerTableNetwork, Index: id, Row: compile.NetworkRow(model.EmptyNetwork)})
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

// apart changes the trees of routes of VRFs. Routes of Linux give way to them.
func (w *wayWriter) apart() error {
	if w.Target.Apart == nil || w.dev != xfrm.Red {
		return nil
	}
	w.stands = true
	for network := 1; network < 1<<regs.NetworkRow.Network.Width; network++ {
		have, routes := w.ways.Apart[network], []prefixes.Route{}
		want := map[netip.Prefix]prefixes.Hops{}
		for _, way := range w.Target.Apart[network] {
			want[way.Prefix] = way.Hops
		}
		for _, p := range slices.SortedFunc(maps.Keys(have), learned.Compare) {
			if _, stays := want[p]; !stays {
				routes = append(routes, prefixes.Route{Prefix: p})
			}
		}
		for _, p := range slices.SortedFunc(maps.Keys(want), learned.Compare) {
			if have[p] != want[p] {
				routes = append(routes, prefixes.Route{Prefix: p, Hops: want[p]})
			}
		}
		if len(routes) == 0 && (len(have) > 0 || !w.ways.Table.Has(network)) {
			continue
		}
		if err := w.route(network, routes); err != nil {
			return err
		}
		if delete(w.ways.Apart, network); len(want) > 0 {
			w.ways.Apart[network] = want
		}
	}
	return nil
}

func (w *wayWriter) route(network int, routes []prefixes.Route) error {
	for s := (policyStep{wayWriter: w}); ; {
		writes, err := w.ways.Table.ApplyIn(network, routes)
		switch {
		case err == nil:
			w.write(PhaseInsert, writes)
			return nil
		case !isFull(err):
			return err
		case !s.giveWay():
			return &compile.FullError{Err: xfrm.Errorf(xfrm.Pos{}, "no room for the routes of the VRF %s: %v", w.nameOf(network), err)}
		}
	}
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
