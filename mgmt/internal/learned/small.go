// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"iter"
	"maps"
	"net/netip"

	"github.com/tidwall/btree"
)

// leastSmall is the length of the largest small prefix, which has four addresses.
const leastSmall = 126

// Small says whether a prefix that the chip's tree cannot hold has so few addresses that each may
// have a row of hosts.
func Small(p netip.Prefix) bool { return p.Addr().Is6() && p.Bits() >= leastSmall }

// AddressCount is how many addresses a small prefix has.
func AddressCount(p netip.Prefix) int { return 1 << (p.Addr().BitLen() - p.Bits()) }

// Addresses are those of a small prefix, in their order.
func Addresses(p netip.Prefix) (all []netip.Addr) {
	for a := p.Masked().Addr(); len(all) < AddressCount(p); a = a.Next() {
		all = append(all, a)
	}
	return all
}

// inHosts says whether the chip's table of hosts can do what a route says, for each of its
// addresses. No row of that table drops packets, and none leads to an XFRM interface.
func (r *Route) inHosts() bool {
	return Small(r.Prefix) && r.Type == "" && r.Dev == "" && !r.Elsewhere
}

// small are the routes that the table of hosts stands for.
type small struct {
	behind, near *btree.BTreeG[*Route] // with gateways, and without
	via          map[netip.Addr]int
	rows         int // that all addresses behind gateways take
}

func newSmall() small {
	return small{
		btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}), btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}), map[netip.Addr]int{}, 0,
	}
}

func (s *small) copy() small {
	return small{s.behind.Copy(), s.near.Copy(), maps.Clone(s.via), s.rows}
}

// count takes a route in, or out if `by` is below 0.
func (s *small) count(r *Route, by int) {
	of := s.near
	if len(r.Via) > 0 {
		of = s.behind
		s.rows += by * AddressCount(r.Prefix)
	}
	if of.Delete(r); by > 0 {
		of.Set(r)
	}
	for _, via := range r.Via {
		addTo(s.via, via, by)
	}
}

func addTo(counts map[netip.Addr]int, via netip.Addr, by int) {
	if counts[via] += by; counts[via] == 0 {
		delete(counts, via)
	}
}

// Behind are the small routes on the chip that have gateways, in the order of their prefixes.
func (l *Routes) Behind() iter.Seq[*Route] { return l.small.behind.Scan }

// Near are those to hosts straight behind the port, likewise.
func (l *Routes) Near() iter.Seq[*Route] { return l.small.near.Scan }

// SmallVia are the gateways of small routes, with how many lead to each.
func (l *Routes) SmallVia() map[netip.Addr]int { return l.small.via }

// SmallRows is how many rows of hosts the small routes take at most.
func (l *Routes) SmallRows() int { return l.small.rows }
