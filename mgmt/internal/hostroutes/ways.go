// SPDX-License-Identifier: Apache-2.0

// Package hostroutes has the routes to small prefixes ([learned.Small]), which the chips' trees of
// prefixes cannot hold. The tables of hosts stand for them: each address behind a gateway has a row
// with the gateway's Ethernet address.
package hostroutes

import (
	"cmp"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
)

// Ways are where packets to small prefixes go that leave by a port, the longest ones first.
func Ways(m *model.Model, dev string) (ways []model.Way) {
	seen := map[netip.Prefix]bool{}
	add := func(p netip.Prefix) {
		if seen[p] {
			return
		}
		seen[p] = true
		if way, is := m.WayOfAny(dev, p); is {
			ways = append(ways, way)
		}
	}
	for _, p := range written(m, dev) {
		add(p)
	}
	for r := range m.FromLinux[dev].Near() {
		add(r.Prefix)
	}
	for r := range m.FromLinux[dev].Behind() {
		add(r.Prefix)
	}
	slices.SortFunc(ways, func(a, b model.Way) int {
		return cmp.Or(cmp.Compare(b.Prefix.Bits(), a.Prefix.Bits()), learned.Compare(a.Prefix, b.Prefix))
	})
	return ways
}

// written are the small prefixes of written routes out of a port, and of its own networks.
func written(m *model.Model, dev string) (all []netip.Prefix) {
	for _, r := range m.Routes {
		if r.Dev == dev && learned.Small(r.Prefix) {
			all = append(all, r.Prefix)
		}
	}
	for _, a := range m.Addrs {
		if a.Dev == dev && learned.Small(a.Prefix) {
			all = append(all, a.Prefix.Masked())
		}
	}
	return all
}

// Behind says whether the longest small prefix that holds an address is behind a gateway.
func Behind(m *model.Model, dev string, host netip.Addr) bool {
	for bits := host.BitLen(); ; bits-- {
		p, err := host.Prefix(bits)
		if err != nil || !learned.Small(p) {
			return false
		}
		if way, is := m.WayOfAny(dev, p); is {
			return len(way.Via) > 0
		}
	}
}

// Gateways are those of small prefixes out of a port, some of them twice.
func Gateways(m *model.Model, dev string) (hops []netip.Addr) {
	if m.Bump() {
		return nil
	}
	for _, r := range m.Routes {
		if r.Dev == dev && r.Via.IsValid() && learned.Small(r.Prefix) {
			hops = append(hops, r.Via)
		}
	}
	for via := range m.FromLinux[dev].SmallVia() {
		hops = append(hops, via)
	}
	return hops
}

// Near are the hosts of small networks straight behind a port, some of them twice. The chip does
// not say that one is not known if a shorter prefix leads to a gateway, so they are looked for
// before a packet comes.
func Near(m *model.Model, dev string) (hosts []netip.Addr) {
	networks := written(m, dev)
	for r := range m.FromLinux[dev].Near() {
		networks = append(networks, r.Prefix)
	}
	for _, p := range networks {
		for _, host := range learned.Addresses(p) {
			if m.Resolves(model.NextHop{Dev: dev, IP: host}) {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}
