// SPDX-License-Identifier: Apache-2.0

package byprefix

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"sallyport/mgmt/internal/xfrm"
)

// spd is a plain list of policies, some of them flows.
type spd struct {
	*rand.Rand
	policies []*Policy
	flows    []*Policy
	age      uint64
}

// net is a prefix of a few bits that differ, so that many are equal or hold each other.
func (s *spd) net(six bool) netip.Prefix {
	bits := []int{0, 2, 8, 9, 10, 11, 12, 24, 32}[s.IntN(9)]
	addr := netip.AddrFrom4([4]byte{10, byte(s.IntN(16) << 4), byte(s.IntN(2)), byte(s.IntN(2))})
	if s.IntN(30) == 0 {
		addr = netip.AddrFrom4([4]byte{224 + byte(s.IntN(32)), 0, 0, 1})
	}
	if six {
		bits = []int{0, 16, 17, 18, 20, 48, 64, 65, 128}[s.IntN(9)]
		addr = netip.AddrFrom16([16]byte{0x20, 1, byte(s.IntN(16) << 4), 8: byte(s.IntN(2) << 7)})
	}
	p, _ := addr.Prefix(bits)
	return p
}

// fresh is a random policy.
func (s *spd) fresh() Policy {
	six := s.IntN(3) == 0
	s.age++
	p := Policy{Selector: xfrm.Selector{Src: s.net(six), Dst: s.net(six)}, Priority: uint32(s.IntN(4)), Age: s.age, Place: s.age, OneRow: s.IntN(12) > 0}
	switch s.IntN(9) {
	case 0:
		p.Proto = 6
	case 1:
		p.Src, p.Dst = xfrm.Everything, xfrm.Everything
	case 2:
		if !six {
			p.DstList = xfrm.AddressList(netip.PrefixFrom(p.Dst.Addr(), 32).String())
		}
	}
	return p
}

func before(a, b *Policy) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Age, b.Age))
}

// named says by the definition alone whether a policy goes by prefix.
func (s *spd) named(p *Policy) bool {
	if !p.Fits() {
		return false
	}
	earlier := 0
	for _, q := range s.policies {
		switch {
		case q.Fits() && q.Dst.Bits() > p.Dst.Bits() && p.Dst.Contains(q.Dst.Addr()):
			return false
		case q.Fits() && q.Dst == p.Dst && before(q, p) < 0:
			earlier++
		}
		if q.Priority == p.Priority && q.Age < p.Age && q.Overlaps(p.Selector) && !(q.Dst == p.Dst && s.named(q)) {
			return false
		}
	}
	return earlier < 2
}

// covers says whether a packet is a policy's.
func covers(p *Policy, packet xfrm.Selector) bool { return p.Covers(packet) }

// right is the policy of a packet: the first in the SPD, and a flow first at equal priority.
func (s *spd) right(packet xfrm.Selector) *Policy {
	var best *Policy
	for _, p := range s.policies {
		if covers(p, packet) && (best == nil || before(p, best) < 0) {
			best = p
		}
	}
	for _, f := range s.flows {
		if covers(f, packet) && (best == nil || f.Priority <= best.Priority) {
			best = f
		}
	}
	return best
}

// found is what the chip takes for a packet: from one look-up each of flows, of rows by prefix and
// of rules.
func (s *spd) found(x *Index, packet xfrm.Selector) (best *Policy) {
	at := map[uint64]*Policy{}
	for _, p := range s.policies {
		at[p.Place] = p
	}
	dsts := map[netip.Prefix]bool{}
	for place := range x.Named() {
		if p := at[place]; p.Dst.Contains(packet.Dst.Addr()) && !packet.ToGroups() {
			dsts[p.Dst] = true
		}
	}
	if len(dsts) > 1 {
		panic("destinations by prefix hold each other")
	}
	var rule, row *Policy
	for place := range x.Rules() {
		if p := at[place]; covers(p, packet) && (rule == nil || before(p, rule) < 0) {
			rule = p
		}
	}
	for dst := range dsts {
		rows := x.Of(dst)
		for _, place := range rows {
			if row == nil && at[place].Src.Contains(packet.Src.Addr()) {
				row = at[place]
			}
		}
	}
	if best = rule; row != nil && (best == nil || row.Priority <= best.Priority) {
		best = row
	}
	for _, f := range s.flows {
		if covers(f, packet) && (best == nil || f.Priority <= best.Priority) {
			best = f
		}
	}
	return best
}

// packet is one at the edge of some policy.
func (s *spd) packet() xfrm.Selector {
	p := s.policies[s.IntN(len(s.policies))]
	host := func(net netip.Prefix) netip.Prefix {
		addr := net.Addr()
		if s.IntN(2) == 0 {
			addr = s.net(addr.Is6()).Addr()
		}
		return netip.PrefixFrom(addr, addr.BitLen())
	}
	return xfrm.Selector{Src: host(p.Src), Dst: host(p.Dst), Proto: 6 + 11*uint8(s.IntN(2)), SPort: xfrm.One(1), DPort: xfrm.One(2)}
}

// change makes a random change of the policies and of an index.
func (s *spd) change(x *Index) {
	n := len(s.policies)
	switch {
	case n > 0 && s.IntN(3) == 0:
		i := s.IntN(n)
		x.Remove(*s.policies[i])
		s.policies = slices.Delete(s.policies, i, i+1)
	case n > 0 && s.IntN(4) == 0: // an update keeps the age
		i := s.IntN(n)
		x.Remove(*s.policies[i])
		p := *s.policies[i]
		s.age++
		p.Place, p.Priority = s.age, uint32(s.IntN(4))
		s.policies = append(slices.Delete(s.policies, i, i+1), &p)
		x.Put(p)
	default:
		p := s.fresh()
		for _, q := range s.policies {
			if q.Selector == p.Selector {
				return
			}
		}
		s.policies = append(s.policies, &p)
		x.Put(p)
	}
}

// check holds an index against the definition, and its decisions against a search of the whole SPD.
func (s *spd) check(t *testing.T, x *Index) {
	t.Helper()
	count := 0
	for _, p := range s.policies {
		named := s.named(p)
		if x.Has(p.Place) != named {
			t.Fatalf("%s priority %d age %d: goes by prefix is %t\n%s", p.Selector, p.Priority, p.Age, !named, s)
		}
		if named {
			count++
		}
	}
	if x.Len() != count || len(slices.Collect(x.Rules())) != len(s.policies)-count {
		t.Fatalf("%d go by prefix, not %d, of %d", x.Len(), count, len(s.policies))
	}
	for range 20 {
		if len(s.policies) == 0 {
			break
		}
		packet := s.packet()
		if got, want := s.found(x, packet), s.right(packet); got != want {
			t.Fatalf("%s finds %v, must find %v\n%s", packet, got, want, s)
		}
	}
}

func (s *spd) String() (text string) {
	for _, p := range slices.SortedFunc(slices.Values(s.policies), before) {
		text += fmt.Sprintf("%s priority %d age %d one row %t\n", p.Selector, p.Priority, p.Age, p.OneRow)
	}
	return text
}

// TestChoice makes thousands of random SPDs, change by change. Each choice is the one that the
// definition makes, and the one that an index of the same SPD makes in another order; and the chip
// decides as a search of the SPD does. Policies that have moved since a copy are noted.
func TestChoice(t *testing.T) {
	named, moved := 0, 0
	for seed := range uint64(150) {
		s := &spd{Rand: rand.New(rand.NewPCG(seed, 282))}
		x := New()
		for range s.IntN(4) {
			host := s.net(false)
			s.flows = append(s.flows, &Policy{Priority: uint32(s.IntN(4)), Selector: xfrm.Selector{
				Src: netip.PrefixFrom(host.Addr(), 32), Dst: netip.PrefixFrom(s.net(false).Addr(), 32), Proto: 6, SPort: xfrm.One(1), DPort: xfrm.One(2),
			}})
		}
		for range 60 {
			was := map[uint64]bool{}
			for _, p := range s.policies {
				was[p.Place] = x.Has(p.Place)
			}
			x = x.Copy()
			for range 1 + s.IntN(3) {
				s.change(&x)
			}
			s.check(t, &x)
			now := map[uint64]bool{}
			for place := range x.Moved() {
				now[place] = true
			}
			for _, p := range s.policies {
				if now[p.Place] != (x.Has(p.Place) != was[p.Place]) {
					t.Fatalf("seed %d: %s has moved is %t\n%s", seed, p.Selector, now[p.Place], s)
				}
			}
			for place, by := range was {
				if x.Was(place) != by {
					t.Fatalf("seed %d: how %d was is not noted", seed, place)
				}
			}
			moved += len(now)
		}
		other := New()
		for _, i := range s.Perm(len(s.policies)) {
			other.Put(*s.policies[i])
		}
		if a, b := maps.Collect(pairs(&x)), maps.Collect(pairs(&other)); !maps.Equal(a, b) {
			t.Fatalf("seed %d: the order of changes matters\n%s", seed, s)
		}
		named += x.Len()
	}
	if t.Log("by prefix in the end", named, "moved", moved); named < 150 || moved < 1500 {
		t.Error("too few to show anything")
	}
}

// pairs are the places of an index, and what it says of them.
func pairs(x *Index) func(func(uint64, bool) bool) {
	return func(yield func(uint64, bool) bool) {
		for place := range x.Named() {
			if !yield(place, true) {
				return
			}
		}
		for place := range x.Rules() {
			if !yield(place, false) {
				return
			}
		}
	}
}
