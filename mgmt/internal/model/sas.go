// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"iter"
	"net/netip"

	"github.com/tidwall/btree"

	"sallyport/mgmt/internal/xfrm"
)

// SAs are the SAs of a model, in the order of their ages. They are trees that share equal parts: a
// copy costs nothing, and a change of either costs the logarithm of their number. An SA that is in
// a published copy is never written: a changed copy replaces it.
type SAs struct {
	ages    *btree.Map[uint64, *SA]
	keys    *btree.BTreeG[keyed]
	ends    *btree.BTreeG[ended]
	spis    *btree.BTreeG[numbered]
	rows    *btree.Map[uint64, *SA]    // of those that have a row
	timed   *btree.Map[uint64, *SA]    // with limits in time, by age
	dummy   *btree.Map[uint64, *SA]    // that send dummy packets, by age
	told    *btree.Map[uint64, *SA]    // with a path MTU that ICMP told, by age
	dscps   *btree.Map[uint64, *SA]    // that are for some DSCPs or map them, by age
	fars    *btree.BTreeG[far]         // of those whose direction is known
	senders [2]*btree.Map[uint64, *SA] // outbound tunnels over IPv4 and IPv6, by age
	count   [2]int                     // outbound, inbound, of those that have a row
}

// keyed is an SA by what Linux knows it by.
type keyed struct {
	dst   netip.Addr
	proto string
	spi   uint32
	sa    *SA
}

// ended is an SA by what templates find it by.
type ended struct {
	ends
	age uint64
	sa  *SA
}

type numbered struct {
	spi uint32
	age uint64
	sa  *SA
}

func keyOfSA(id xfrm.ID) keyed { return keyed{dst: id.Dst, proto: id.Proto, spi: id.SPI} }

func newTree[T any](compare func(a, b T) int) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(func(a, b T) bool { return compare(a, b) < 0 }, btree.Options{NoLocks: true})
}

// NewSAs is none.
func NewSAs() SAs {
	return SAs{
		ages: &btree.Map[uint64, *SA]{}, rows: &btree.Map[uint64, *SA]{}, timed: &btree.Map[uint64, *SA]{}, dummy: &btree.Map[uint64, *SA]{}, told: &btree.Map[uint64, *SA]{}, dscps: &btree.Map[uint64, *SA]{},
		senders: [2]*btree.Map[uint64, *SA]{{}, {}}, fars: newFars(),
		keys: newTree(func(a, b keyed) int {
			return cmp.Or(a.dst.Compare(b.dst), cmp.Compare(a.spi, b.spi), cmp.Compare(a.proto, b.proto))
		}),
		ends: newTree(func(a, b ended) int { return cmp.Or(a.ends.compare(b.ends), cmp.Compare(a.age, b.age)) }),
		spis: newTree(func(a, b numbered) int { return cmp.Or(cmp.Compare(a.spi, b.spi), cmp.Compare(a.age, b.age)) }),
	}
}

func (s *SAs) copy() SAs {
	return SAs{s.ages.Copy(), s.keys.Copy(), s.ends.Copy(), s.spis.Copy(), s.rows.Copy(), s.timed.Copy(), s.dummy.Copy(), s.told.Copy(), s.dscps.Copy(), s.fars.Copy(), [2]*btree.Map[uint64, *SA]{s.senders[0].Copy(), s.senders[1].Copy()}, s.count}
}

// Len is their number.
func (s *SAs) Len() int { return s.ages.Len() }

// Count is the number of those of a direction that have been given a row.
func (s *SAs) Count(way xfrm.Dir) int { return s.count[number(way)] }

// All gives them, the oldest first.
func (s *SAs) All() iter.Seq[*SA] { return values(s.ages) }

// Timed are those with limits in time.
func (s *SAs) Timed() iter.Seq[*SA] { return values(s.timed) }

// Dummies are those that send dummy packets.
func (s *SAs) Dummies() iter.Seq[*SA] { return values(s.dummy) }

// ByDSCP says whether some SA is for some DSCPs alone, or maps them.
func (s *SAs) ByDSCP() bool { return s.dscps.Len() > 0 }

func values[K cmp.Ordered, V any](m *btree.Map[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) { m.Scan(func(_ K, v V) bool { return yield(v) }) }
}

// Find is the SA of a destination, protocol and SPI.
func (s *SAs) Find(id xfrm.ID) *SA {
	found, _ := s.keys.Get(keyOfSA(id))
	return found.sa
}

// At is the SA of a row of a direction.
func (s *SAs) At(way xfrm.Dir, row int) *SA {
	sa, _ := s.rows.Get(rowKey(way, row))
	return sa
}

// OfAge is the SA of an age.
func (s *SAs) OfAge(age uint64) *SA {
	sa, _ := s.ages.Get(age)
	return sa
}

// OfSPI gives the SAs of an SPI.
func (s *SAs) OfSPI(spi uint32) iter.Seq[*SA] {
	return func(yield func(*SA) bool) {
		s.spis.Ascend(numbered{spi: spi}, func(n numbered) bool { return n.spi == spi && yield(n.sa) })
	}
}

// Inbound says whether an inbound SA has an SPI.
func (s *SAs) Inbound(spi uint32) bool {
	for sa := range s.OfSPI(spi) {
		if sa.Way == xfrm.DirIn {
			return true
		}
	}
	return false
}

func number(way xfrm.Dir) int {
	if way == xfrm.DirIn {
		return 1
	}
	return 0
}

func rowKey(way xfrm.Dir, row int) uint64 { return uint64(number(way))<<32 | uint64(row) }

// put adds an SA, or replaces the one that has its age.
func (s *SAs) put(sa *SA) {
	s.ages.Set(sa.Age, sa)
	key := keyOfSA(sa.ID)
	key.sa = sa
	s.keys.Set(key)
	for _, ends := range endsOfSA(sa) {
		s.ends.Set(ended{ends, sa.Age, sa})
	}
	s.spis.Set(numbered{sa.SPI, sa.Age, sa})
	for tree, in := range s.some(sa) {
		if in {
			tree.Set(sa.Age, sa)
		} else {
			tree.Delete(sa.Age)
		}
	}
	if !sa.Fresh {
		s.settle(sa)
	}
}

// direct notes the direction of an SA.
func (s *SAs) direct(sa *SA) {
	if addr := sa.FarEnd(); addr.IsValid() {
		s.fars.Set(far{addr, sa.Age})
	}
	if sa.Way == xfrm.DirOut && sa.Mode == xfrm.ModeTunnel {
		s.senders[version(sa)].Set(sa.Age, sa)
	}
}

// version is 1 of an SA over IPv6.
func version(sa *SA) int {
	if sa.Src.Is6() {
		return 1
	}
	return 0
}

// Sender is the oldest outbound tunnel whose own address fits.
func (s *SAs) Sender(v6 bool, fits func(netip.Addr) bool) *SA {
	of := s.senders[0]
	if v6 {
		of = s.senders[1]
	}
	for sa := range values(of) {
		if fits(sa.Src) {
			return sa
		}
	}
	return nil
}

// settle notes that an SA has its row.
func (s *SAs) settle(sa *SA) {
	s.direct(sa)
	if _, twice := s.rows.Set(rowKey(sa.Way, sa.Row), sa); !twice {
		s.count[number(sa.Way)]++
	}
}

func (s *SAs) remove(sa *SA) {
	s.ages.Delete(sa.Age)
	s.keys.Delete(keyOfSA(sa.ID))
	for _, ends := range endsOfSA(sa) {
		s.ends.Delete(ended{ends: ends, age: sa.Age})
	}
	s.spis.Delete(numbered{spi: sa.SPI, age: sa.Age})
	for tree := range s.some(sa) {
		tree.Delete(sa.Age)
	}
	s.senders[version(sa)].Delete(sa.Age)
	s.fars.Delete(far{sa.FarEnd(), sa.Age})
	if !sa.Fresh {
		s.rows.Delete(rowKey(sa.Way, sa.Row))
		s.count[number(sa.Way)]--
	}
}

// some are the trees of some SAs alone, and whether one is in each.
func (s *SAs) some(sa *SA) map[*btree.Map[uint64, *SA]]bool {
	return map[*btree.Map[uint64, *SA]]bool{s.timed: sa.Time.Given(), s.dummy: sa.Dummy != nil, s.told: sa.Path != nil, s.dscps: sa.ForDSCP != 0 || sa.DSCP.Map != nil}
}
