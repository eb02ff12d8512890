// SPDX-License-Identifier: Apache-2.0

package byprefix

import (
	"cmp"
	"iter"
	"net/netip"

	"github.com/tidwall/btree"
)

// stand is where a policy stands.
type stand int

const (
	other stand = iota // a rule that does not fit
	ruled              // a rule that fits
	named              // it goes by prefix
)

// ranked is a policy by where it stands.
type ranked struct {
	stand
	*Policy
}

func (a ranked) compare(b ranked) int {
	return cmp.Or(cmp.Compare(a.stand, b.stand), cmp.Compare(a.Priority, b.Priority), compareNets(a.Dst, b.Dst), cmp.Compare(a.Age, b.Age))
}

func compareFits(a, b *Policy) int {
	return cmp.Or(compareNets(a.Dst, b.Dst), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Age, b.Age))
}

// Index keeps the choice for an SPD that changes. Its trees share equal parts with their copies. A
// new policy costs the logarithm of the number of policies, for each length of prefix that there
// is, and a look at the rules of its priority. One that goes, or is updated, also costs a look at
// the policies of its priority inside its own destination.
type Index struct {
	fits    *btree.BTreeG[*Policy] // those that fit, by destination, then in the SPD's order
	ranks   *btree.BTreeG[ranked]  // all, by where they stand, priority and destination
	rules   *btree.Map[uint64, *Policy]
	named   *btree.Map[uint64, *Policy]
	lengths [2][longest + 1]int // how many of those that fit have a destination of each length
	newest  uint64              // the highest age that there was
	was     map[uint64]bool     // by place: whether one that has changed went by prefix at Copy
}

func newTree[T any](compare func(a, b T) int) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(func(a, b T) bool { return compare(a, b) < 0 }, btree.Options{NoLocks: true})
}

// New is that of no policies.
func New() Index {
	return Index{fits: newTree(compareFits), ranks: newTree(ranked.compare), rules: &btree.Map[uint64, *Policy]{}, named: &btree.Map[uint64, *Policy]{}, was: map[uint64]bool{}}
}

// Copy costs little, however many there are. What changes is noted from here on.
func (x *Index) Copy() Index {
	return Index{x.fits.Copy(), x.ranks.Copy(), x.rules.Copy(), x.named.Copy(), x.lengths, x.newest, map[uint64]bool{}}
}

// Has says whether the policy of a place goes by prefix.
func (x *Index) Has(place uint64) bool {
	_, has := x.named.Get(place)
	return has
}

// Empty says whether there is no policy.
func (x *Index) Empty() bool { return x.ranks.Len() == 0 }

// Len is how many go by prefix.
func (x *Index) Len() int { return x.named.Len() }

// Named are the places of those that go by prefix, in their order.
func (x *Index) Named() iter.Seq[uint64] { return keys(x.named) }

// Rules are the places of the others, in their order.
func (x *Index) Rules() iter.Seq[uint64] { return keys(x.rules) }

func keys(m *btree.Map[uint64, *Policy]) iter.Seq[uint64] {
	return func(yield func(uint64) bool) { m.Scan(func(place uint64, _ *Policy) bool { return yield(place) }) }
}

// Of are the places of those of a destination that go by prefix, in the order of the SPD: at most
// two.
func (x *Index) Of(dst netip.Prefix) (places []uint64) {
	for _, p := range x.first(dst) {
		if x.Has(p.Place) {
			places = append(places, p.Place)
		}
	}
	return places
}

// Was says whether the policy of a place went by prefix when the index was copied.
func (x *Index) Was(place uint64) bool {
	if was, noted := x.was[place]; noted {
		return was
	}
	return x.Has(place)
}

// Moved are the places of policies that stand elsewhere than when the index was copied, new ones
// that go by prefix among them.
func (x *Index) Moved() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for place, was := range x.was {
			if x.Has(place) != was && !yield(place) {
				return
			}
		}
	}
}

// Put takes a new policy.
func (x *Index) Put(p Policy) {
	last := x.newest
	x.newest = max(x.newest, p.Age)
	x.rules.Set(p.Place, &p)
	if !p.Fits() {
		x.ranks.Set(ranked{other, &p})
	} else {
		x.ranks.Set(ranked{ruled, &p})
		x.fits.Set(&p)
		x.lengths[version(p.Dst)][p.Dst.Bits()]++
	}
	met := x.around(&p)
	if p.Age <= last {
		met = x.younger(named, &p, met)
	}
	x.choose(met)
}

// Remove lets a policy go.
func (x *Index) Remove(p Policy) {
	had, in := x.rules.Delete(p.Place)
	at := ruled
	if !in {
		had, _ = x.named.Delete(p.Place)
		x.note(p.Place, true)
		at = named
	}
	if !had.Fits() {
		at = other
	}
	if x.ranks.Delete(ranked{at, had}); at != other {
		x.fits.Delete(had)
		x.lengths[version(had.Dst)][had.Dst.Bits()]--
	}
	x.choose(x.younger(ruled, had, x.around(had)))
}

// note remembers how the policy of a place was.
func (x *Index) note(place uint64, was bool) {
	if _, noted := x.was[place]; !noted {
		x.was[place] = was
	}
}

// move has a policy that fits stand elsewhere.
func (x *Index) move(p *Policy, by bool) {
	if x.Has(p.Place) == by {
		return
	}
	x.note(p.Place, !by)
	if by {
		x.ranks.Delete(ranked{ruled, p})
		x.ranks.Set(ranked{named, p})
		x.rules.Delete(p.Place)
		x.named.Set(p.Place, p)
	} else {
		x.ranks.Delete(ranked{named, p})
		x.ranks.Set(ranked{ruled, p})
		x.named.Delete(p.Place)
		x.rules.Set(p.Place, p)
	}
}

func version(p netip.Prefix) int {
	if p.Addr().Is6() {
		return 1
	}
	return 0
}
