// SPDX-License-Identifier: Apache-2.0

// Package learned holds routes of Linux, in sets: those that lead out of each port, and, where
// there are XFRM interfaces, all of them, as they steer packets.
package learned

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/btree"

	"sallyport/mgmt/internal/xfrm"
)

// Route is a route of Linux that leads out of a port, to an XFRM interface, elsewhere or nowhere.
type Route struct {
	Prefix netip.Prefix `json:"prefix"`
	// Dev is the XFRM interface, if it leads to one. In sets that steer alone.
	Dev string `json:"dev,omitempty"`
	// VLAN is the ID of the VLAN of red that the hosts of a connected route in a VRF's table are
	// in.
	VLAN uint16 `json:"vlan,omitempty"`
	// Elsewhere says that it leads out of another device, in those sets.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Via are its gateways, at most MostWays. Without any, hosts of the prefix are straight behind
	// the port, or nothing is.
	Via []netip.Addr `json:"via,omitempty"`
	// Type is that of a route that leads nowhere: blackhole, unreachable or prohibit; else "".
	Type     string `json:"type,omitempty"`
	Protocol string `json:"protocol,omitempty"` // who gave it to Linux
	Metric   uint32 `json:"metric,omitempty"`
	// Refused says that the chip has no room for it.
	Refused bool `json:"refused,omitempty"`
}

// Steering names the set of all routes of Linux's main table, which say to which XFRM interface
// packets go. The sets of ports have the names of their devices.
const Steering = "xfrm"

// SteeringOf names the same set of a VRF, by its table and its name.
func SteeringOf(table uint32, vrf string) string { return Steering + " " + OfTable(table, vrf) }

// Steers says whether a set is such a one.
func Steers(set string) bool { return set == Steering || strings.HasPrefix(set, Steering+" ") }

// OfTable names the set of the routes of a VRF, by its table and its name: another VRF that gets
// the table has a set of its own.
func OfTable(table uint32, vrf string) string {
	return tables + strconv.FormatUint(uint64(table), 10) + " " + vrf
}

// OfVRF says whether a set is one of a VRF.
func OfVRF(set string) bool {
	return strings.HasPrefix(strings.TrimPrefix(set, Steering+" "), tables)
}

// tables starts the names of the sets of VRFs. No device has such a name.
const tables = "table "

// Sets are the names of the sets that there always are.
var Sets = []string{xfrm.Red, xfrm.Black, Steering}

// MostWays is how many gateways share the packets of a prefix.
const MostWays = 4

// longest6 is the longest IPv6 prefix that the chip's tree of prefixes holds.
const longest6 = 64

// Treeable says whether the chip's tree of prefixes can hold a prefix.
func Treeable(p netip.Prefix) bool { return p.Addr().Is4() || p.Bits() <= longest6 }

// OnChip says whether the chip's tree has the route, or its table of hosts, unless a written one is
// in its place.
func (r *Route) OnChip() bool { return !r.Refused && (Treeable(r.Prefix) || r.inHosts()) }

// Same says whether two routes lead to the same places, and Linux says the same of them.
func (r *Route) Same(o *Route) bool {
	return r.Prefix == o.Prefix && r.Dev == o.Dev && r.VLAN == o.VLAN && r.Elsewhere == o.Elsewhere && r.Type == o.Type && r.Protocol == o.Protocol && r.Metric == o.Metric && slices.Equal(r.Via, o.Via)
}

// Routes are some, by their prefixes: a tree that shares equal parts with its copies.
type Routes struct {
	tree    *btree.BTreeG[*Route]
	via     map[netip.Addr]int // of those in the chip's tree, and how many lead there
	lengths [2][129]int        // how many of IPv4 and IPv6 have each length
	refused int
	long    int
	nowhere int // how many in the tree lead nowhere
	inTree  int
	small   small
}

// Compare orders prefixes by their addresses, and then by their lengths.
func Compare(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

func before(a, b *Route) bool { return Compare(a.Prefix, b.Prefix) < 0 }

// New is none.
func New() *Routes {
	return &Routes{
		tree: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}), via: map[netip.Addr]int{}, small: newSmall(),
	}
}

// Copy costs little, however many there are: neither sees what happens to the other.
func (l *Routes) Copy() *Routes {
	return &Routes{l.tree.Copy(), maps.Clone(l.via), l.lengths, l.refused, l.long, l.nowhere, l.inTree, l.small.copy()}
}

// Len is their number.
func (l *Routes) Len() int { return l.tree.Len() }

// Refused is how many of them have no room on the chip.
func (l *Routes) Refused() int { return l.refused }

// Long is how many of them are too long for the chip's tree, and not for its table of hosts.
func (l *Routes) Long() int { return l.long }

// Via are the gateways of those in the chip's tree, with how many routes lead to each.
func (l *Routes) Via() map[netip.Addr]int { return l.via }

// InTree is how many the chip's tree has.
func (l *Routes) InTree() int { return l.inTree }

// Nowhere says whether any in the tree leads nowhere.
func (l *Routes) Nowhere() bool { return l.nowhere > 0 }

// Somewhere says whether any in the tree leads to hosts.
func (l *Routes) Somewhere() bool { return l.inTree > l.nowhere }

// All gives them in the order of their prefixes.
func (l *Routes) All() iter.Seq[*Route] { return l.tree.Scan }

// ToInterfaces gives those to XFRM interfaces, likewise.
func (l *Routes) ToInterfaces() iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		l.tree.Scan(func(r *Route) bool { return r.Dev == "" || yield(r) })
	}
}

// Find is the route of a prefix, or nil.
func (l *Routes) Find(p netip.Prefix) *Route {
	found, _ := l.tree.Get(&Route{Prefix: p})
	return found
}

// Longest is the longest route that holds all of a prefix, of those that are wanted, or of all
// (nil); it looks once for each length that there is.
func (l *Routes) Longest(all netip.Prefix, wanted func(*Route) bool) *Route {
	for bits := all.Bits(); bits >= 0; bits-- {
		if l.lengths[family6(all.Addr())][bits] == 0 {
			continue
		}
		if p, err := all.Addr().Prefix(bits); err == nil {
			if found := l.Find(p); found != nil && (wanted == nil || wanted(found)) {
				return found
			}
		}
	}
	return nil
}

func family6(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}

// Set puts a route in place of that of its prefix, or, without one, takes that away.
func (l *Routes) Set(p netip.Prefix, r *Route) {
	count := func(of *Route, by int) {
		l.lengths[family6(p.Addr())][p.Bits()] += by
		switch {
		case of.Refused:
			l.refused += by
		case of.inHosts():
			l.small.count(of, by)
		case !of.OnChip():
			l.long += by
		default:
			l.inTree += by
			if of.Type != "" {
				l.nowhere += by
			}
			for _, via := range of.Via {
				addTo(l.via, via, by)
			}
		}
	}
	if old, had := l.tree.Delete(&Route{Prefix: p}); had {
		count(old, -1)
	}
	if r != nil {
		l.tree.Set(r)
		count(r, 1)
	}
}

// Change is what Linux says of a prefix now; without a route it has none.
type Change struct {
	Prefix netip.Prefix
	Route  *Route
}
