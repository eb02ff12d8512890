// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"iter"
	"net/netip"

	"github.com/tidwall/btree"

	"sallyport/mgmt/internal/xfrm"
)

// far is the far end of an SA, or of a policy's template, by the SA's age or the policy's place.
type far struct {
	addr netip.Addr
	of   uint64
}

func newFars() *btree.BTreeG[far] {
	return newTree(func(a, b far) int { return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.of, b.of)) })
}

// FarEnd is the address of an SA's peer, once its direction is known.
func (sa *SA) FarEnd() netip.Addr { return farEnd(sa.Way, sa.Src, sa.Dst) }

// FarEnd is the address of the peer that a policy's template names; invalid without one.
func (p *Policy) FarEnd() (none netip.Addr) {
	if p.Template == nil {
		return none
	}
	ends := endsOf(p)
	return farEnd(p.Dir, ends.src, ends.dst)
}

func farEnd(way xfrm.Dir, src, dst netip.Addr) netip.Addr {
	end := src
	if way == xfrm.DirOut {
		end = dst
	}
	if end.IsUnspecified() {
		return netip.Addr{}
	}
	return end
}

// Peers are the far ends of all SAs and policies, each once: those of SAs first, in the order of
// their addresses.
func (m *Model) Peers() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		more := distinct(m.SAs.fars, yield)
		if more {
			distinct(m.Policies.fars, func(addr netip.Addr) bool { return hasFar(m.SAs.fars, addr) || yield(addr) })
		}
	}
}

// IsPeer says whether an address is the far end of an SA or of a policy. It costs the logarithm of
// their number.
func (m *Model) IsPeer(addr netip.Addr) bool {
	return hasFar(m.SAs.fars, addr) || hasFar(m.Policies.fars, addr)
}

func hasFar(fars *btree.BTreeG[far], addr netip.Addr) (has bool) {
	fars.Ascend(far{addr: addr}, func(f far) bool {
		has = f.addr == addr
		return false
	})
	return has
}

// distinct gives each address once, and says whether more are wanted.
func distinct(fars *btree.BTreeG[far], yield func(netip.Addr) bool) (more bool) {
	var last netip.Addr
	more = true
	fars.Scan(func(f far) bool {
		if f.addr != last {
			more = yield(f.addr)
		}
		last = f.addr
		return more
	})
	return more
}
