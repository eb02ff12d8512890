// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// key is one of a network.
type key struct{ network, number int }

func newPlaces(most int) *Places[int, key, string] {
	return New[int, key, string](most, func(k key) int { return k.network })
}

// offer offers some numbers of a network, and says how many of them found a place.
func offer(p *Places[int, key, string], network, first, count int) (taken int) {
	for number := first; number < first+count; number++ {
		if p.Offer(key{network, number}, fmt.Sprint(number)) {
			taken++
		}
	}
	return taken
}

// TestOneNetwork: a network alone may have all places, and gives way to itself by Put alone.
func TestOneNetwork(t *testing.T) {
	const most = 4
	for count := most - 1; count <= most+1; count++ {
		p := newPlaces(most)
		if got := offer(p, 1, 0, count); got != min(count, most) || p.Len() != got || p.Count(1) != got {
			t.Errorf("%d of %d keys have places, %d in all", got, count, p.Len())
		}
		p.Put(key{1, 100}, "new")
		_, first := p.Get(key{1, 0})
		if value, _ := p.Get(key{1, 100}); value != "new" || first != (count < most) || p.Len() != min(count+1, most) {
			t.Errorf("behind %d keys Put made %q, the first has a place: %t; %d in all", count, value, first, p.Len())
		}
	}
	none := newPlaces(0)
	if none.Put(key{1, 1}, ""); none.Offer(key{1, 1}, "") || none.Len() != 0 {
		t.Error("there are places where there are none")
	}
}

// TestGivesWay: the network that has most gives way, by the key that has its place longest, to
// those that have fewer, until they have as many.
func TestGivesWay(t *testing.T) {
	p := newPlaces(10)
	offer(p, 1, 0, 7)
	offer(p, 2, 0, 3)
	p.Put(key{1, 0}, "again")
	if value, _ := p.Get(key{1, 0}); value != "again" {
		t.Errorf("the value is %q", value)
	}
	if got := offer(p, 3, 0, 2); got != 2 || p.Count(1) != 5 || p.Count(2) != 3 {
		t.Errorf("%d keys of the third network have places, beside %d and %d", got, p.Count(1), p.Count(2))
	}
	for number, want := range []bool{false, false, true, true} {
		if _, has := p.Get(key{1, number}); has != want {
			t.Errorf("key %d has a place: %t", number, has)
		}
	}
	if got := offer(p, 3, 2, 9); got != 1 || p.Count(1) != 4 || p.Count(2) != 3 || p.Count(3) != 3 {
		t.Errorf("%d further keys have places: %d %d %d", got, p.Count(1), p.Count(2), p.Count(3))
	}
	p.Delete(key{3, 0})
	p.Delete(key{3, 0})
	if offer(p, 1, 100, 1) != 1 || p.Len() != 10 {
		t.Errorf("a free place is not taken: %d", p.Len())
	}
}

// TestTurns: each network has its turn, in the order of its keys, and the loop may delete them.
func TestTurns(t *testing.T) {
	p := newPlaces(100)
	offer(p, 1, 0, 50)
	offer(p, 2, 0, 3)
	offer(p, 3, 0, 1)
	var order []key
	for k, value := range p.All() {
		if value != fmt.Sprint(k.number) {
			t.Errorf("%v has %q", k, value)
		}
		order = append(order, k)
		p.Delete(k)
	}
	for network, last := range map[int]int{1: 53, 2: 7, 3: 2} {
		var own []int
		for at, k := range order {
			if k.network == network && at <= last {
				own = append(own, k.number)
			}
		}
		if want := map[int]int{1: 50, 2: 3, 3: 1}[network]; len(own) != want || !slices.IsSorted(own) {
			t.Errorf("network %d: %v", network, own)
		}
	}
	if p.Len() != 0 || len(p.of) != 0 {
		t.Errorf("%d keys and %d networks are left", p.Len(), len(p.of))
	}
	offer(p, 1, 0, 2)
	for range p.All() {
		break
	}
}

// TestShares: however keys of networks come and go, none has two more than another that was refused
// the last time. Nothing is left of networks without keys.
func TestShares(t *testing.T) {
	const most, networks = 60, 7
	random := rand.New(rand.NewPCG(1, 2))
	p := newPlaces(most)
	for range 100_000 {
		k := key{random.IntN(random.IntN(networks) + 1), random.IntN(40)}
		switch random.IntN(4) {
		case 0:
			p.Delete(k)
		case 1:
			p.Put(k, "")
		default:
			if p.Offer(k, "") {
				break
			}
			for other := range networks {
				if p.Count(other) > p.Count(k.network)+1 {
					t.Fatalf("network %d is refused with %d places, while %d has %d", k.network, p.Count(k.network), other, p.Count(other))
				}
			}
		}
		sum := 0
		for network, keys := range p.of {
			if sum += keys.Len(); keys.Len() == 0 {
				t.Fatalf("network %d is kept without keys", network)
			}
		}
		if sum != p.Len() || sum > most {
			t.Fatalf("%d keys have places, and %d by network", p.Len(), sum)
		}
	}
}

// TestNoThrash: if networks want more and more places, a bounded number of keys gives way: each of
// the networks that come one by one takes its share once.
func TestNoThrash(t *testing.T) {
	const most, networks = 256, 63
	p, taken, bound := newPlaces(most), 0, 0
	for network := 1; network <= networks; network++ {
		bound += most / network
		for other := 1; other <= network; other++ {
			taken += offer(p, other, most*network, most)
		}
	}
	if t.Logf("%d keys found places", taken); taken > bound || taken < bound-networks {
		t.Errorf("%d keys found places, and %d is the most", taken, bound)
	}
}
