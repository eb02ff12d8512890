// SPDX-License-Identifier: Apache-2.0

// Package fair shares a bounded number of places among networks that are apart: what one of them
// asks for takes nothing from another that asks for less.
package fair

import (
	"container/list"
	"iter"
)

// Places are held by keys, each of a network, with a value each. As long as one is free any network
// may take it. Then the network that has most gives way to those that have fewer, but for one that
// would then have more than it: so no key goes to and fro, and a crowd pushes out its own alone.
// Each method takes as long as there are networks, but for All, and not longer with more keys.
type Places[N, K comparable, V any] struct {
	most      int
	networkOf func(K) N
	all       map[K]*list.Element // of its network's list
	of        map[N]*list.List    // its entries, the first to give way first; never empty
}

type entry[K, V any] struct {
	key   K
	value V
}

// New makes so many places, all free. `networkOf` is the network of a key.
func New[N, K comparable, V any](most int, networkOf func(K) N) *Places[N, K, V] {
	return &Places[N, K, V]{most, networkOf, map[K]*list.Element{}, map[N]*list.List{}}
}

// Len is how many places are taken.
func (p *Places[N, K, V]) Len() int { return len(p.all) }

// Count is how many of them a network has.
func (p *Places[N, K, V]) Count(network N) int {
	if keys := p.of[network]; keys != nil {
		return keys.Len()
	}
	return 0
}

// Get is the value of a key that has a place.
func (p *Places[N, K, V]) Get(key K) (value V, has bool) {
	at, has := p.all[key]
	if has {
		value = at.Value.(entry[K, V]).value
	}
	return value, has
}

// Offer gives a key a place, unless its own network would have to give way. Of its network's keys
// it is the last to give way. A key that has a place keeps it, with the new value.
func (p *Places[N, K, V]) Offer(key K, value V) bool {
	if at, has := p.all[key]; has {
		at.Value = entry[K, V]{key, value}
		return true
	}
	network := p.networkOf(key)
	if len(p.all) >= p.most {
		crowded := p.crowded(network)
		if crowded == network {
			return false
		}
		p.lose(crowded)
	}
	p.add(network, key, value)
	return true
}

// Put does so, and takes the place of the first key of its own network if need be. It does nothing
// if that has none.
func (p *Places[N, K, V]) Put(key K, value V) {
	network := p.networkOf(key)
	if !p.Offer(key, value) && p.Count(network) > 0 {
		p.lose(network)
		p.add(network, key, value)
	}
}

// Delete frees the place of a key, if it has one.
func (p *Places[N, K, V]) Delete(key K) {
	at, has := p.all[key]
	if !has {
		return
	}
	network := p.networkOf(key)
	delete(p.all, key)
	if keys := p.of[network]; keys.Len() > 1 {
		keys.Remove(at)
	} else {
		delete(p.of, network)
	}
}

// All are the keys so that each network has its turn, the networks in any order, and of each the
// first to give way first. Meanwhile none but the key that is had may be deleted.
func (p *Places[N, K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		heads := make([]*list.Element, 0, len(p.of))
		for _, keys := range p.of {
			heads = append(heads, keys.Front())
		}
		for len(heads) > 0 {
			further := heads[:0]
			for _, at := range heads {
				next, e := at.Next(), at.Value.(entry[K, V])
				if !yield(e.key, e.value) {
					return
				}
				if next != nil {
					further = append(further, next)
				}
			}
			heads = further
		}
	}
}

// crowded is the network that has most with a further key of one.
func (p *Places[N, K, V]) crowded(further N) N {
	network, most := further, p.Count(further)+1
	for other, keys := range p.of {
		if keys.Len() > most {
			network, most = other, keys.Len()
		}
	}
	return network
}

// lose takes the place of the key of a network that gives way first.
func (p *Places[N, K, V]) lose(network N) {
	p.Delete(p.of[network].Front().Value.(entry[K, V]).key)
}

func (p *Places[N, K, V]) add(network N, key K, value V) {
	if p.of[network] == nil {
		p.of[network] = list.New()
	}
	p.all[key] = p.of[network].PushBack(entry[K, V]{key, value})
}
