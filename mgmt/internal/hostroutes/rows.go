// SPDX-License-Identifier: Apache-2.0

package hostroutes

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// MostRows is how many rows of a table of hosts Linux's routes may take: the others are left to
// hosts and written routes.
func MostRows(rows int) int { return rows / 2 }

// Rows is how many of the rows of a port's table of hosts small prefixes take at most.
func Rows(m *model.Model, dev string, rows int) (taken int) {
	linux := 0
	for _, own := range m.Insides() {
		for _, r := range own.Routes {
			if r.Dev == dev && r.Via.IsValid() && learned.Small(r.Prefix) {
				taken += learned.AddressCount(r.Prefix)
			}
		}
		linux += own.FromLinux[dev].SmallRows()
	}
	return taken + min(linux, MostRows(rows))
}

// Routed is an address behind a gateway, and Set that of Linux's routes of its network.
type Routed struct {
	Host model.NextHop
	Via  netip.Addr
	Way  model.Way
	Set  string
}

// All are the addresses of small prefixes out of a port that have a gateway whose Ethernet address
// is known: those of written routes first. A table of so many rows has no room for those of some of
// Linux's routes, which are refused, by set.
func All(m *model.Model, dev string, rows int) (out []Routed, refused map[string][]netip.Prefix) {
	nets, refused := admitted(m, dev, rows)
	for _, net := range nets {
		done := map[netip.Addr]bool{}
		for _, way := range net.ways {
			via, known := firstKnown(m, net.own, dev, net.number, way.Via)
			for _, ip := range learned.Addresses(way.Prefix) {
				if done[ip] || len(way.Via) > 0 && !known {
					continue // a shorter prefix may lead on
				}
				if done[ip] = true; len(way.Via) > 0 && !net.own.Owns(ip) {
					out = append(out, Routed{model.NextHop{Dev: dev, IP: ip, Network: net.number}, via, way, net.set})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Routed) int { return model.Order(a.Way.Linux, b.Way.Linux) })
	return out, refused
}

// firstKnown is the first of some gateways by address that has an Ethernet address of its own; else
// the first for which row 0 of next hops stands.
func firstKnown(m, own *model.Model, dev string, network int, via []netip.Addr) (first netip.Addr, known bool) {
	for _, ip := range slices.SortedFunc(slices.Values(via), netip.Addr.Compare) {
		hop := model.NextHop{Dev: dev, IP: ip, Network: network}
		if network != 0 && !own.InReach(hop) {
			continue
		}
		if _, learned := m.Learned[hop]; learned || own.ByHand(hop) {
			return ip, true
		}
		if !known {
			first, known = ip, own.Station(dev, ip) != (xfrm.MAC{})
		}
	}
	return first, known
}

// network is one as its packets meet the model, and its small prefixes.
type network struct {
	number int
	own    *model.Model
	set    string // of Linux's routes
	ways   []model.Way
}

// admitted are those of all networks. Of Linux's routes to gateways there are as many as there may
// be rows for, those that were there before first.
func admitted(m *model.Model, dev string, rows int) (nets []network, refused map[string][]netip.Prefix) {
	type request struct {
		set    string
		prefix netip.Prefix
	}
	var requests []request
	inside := m.Insides()
	for _, number := range slices.Sorted(maps.Keys(inside)) {
		net := network{number, inside[number], setOf(m, inside[number], dev), Ways(inside[number], dev)}
		nets = append(nets, net)
		for _, way := range net.ways {
			if way.Linux && len(way.Via) > 0 {
				requests = append(requests, request{net.set, way.Prefix})
			}
		}
	}
	came := func(r request) bool {
		_, is := m.Changes.Routes[r.set][r.prefix]
		return is
	}
	slices.SortStableFunc(requests, func(a, b request) int { return model.Order(came(a), came(b)) })
	left, without := MostRows(rows), map[request]bool{}
	refused = map[string][]netip.Prefix{}
	for _, r := range requests {
		if n := learned.AddressCount(r.prefix); n <= left {
			left -= n
			continue
		}
		without[r] = true
		refused[r.set] = append(refused[r.set], r.prefix)
	}
	for i := range nets {
		net := &nets[i]
		net.ways = slices.DeleteFunc(net.ways, func(way model.Way) bool { return way.Linux && without[request{net.set, way.Prefix}] })
	}
	return nets, refused
}

// setOf is the set of Linux's routes out of a port that a network has.
func setOf(m, own *model.Model, dev string) string {
	for _, v := range m.VRFs {
		if v.Name == own.VRFName() {
			return learned.OfTable(v.Table, v.Name)
		}
	}
	return dev
}
