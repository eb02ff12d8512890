// SPDX-License-Identifier: Apache-2.0

// Package spis promises SPIs for inbound SAs that are still to come, each to one client.
package spis

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// Larval is how long an SPI waits for its SA, as strongSwan has Linux's kernel keep it.
const Larval = 165 * time.Second

// First is the first SPI that is not reserved (RFC 4303, 2.1).
const First = 256

// Promised are SPIs that were given away and have no SA yet. Its methods may run at once.
type Promised struct {
	mu   sync.Mutex
	ends map[uint32]time.Time // when they are free again
}

// New has promised none.
func New() *Promised { return &Promised{ends: map[uint32]time.Time{}} }

// Release forgets those that an SA has taken.
func (p *Promised) Release(taken func(uint32) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for spi := range p.ends {
		if taken(spi) {
			delete(p.ends, spi)
		}
	}
}

// Promise gives a free SPI of a range, ends included, from a random place on; false if there is
// none. No other promise of the last Larval names it, and none of so many SAs has it.
func (p *Promised) Promise(first, last uint32, now time.Time, sas int, taken func(uint32) bool) (spi uint32, free bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for spi, end := range p.ends {
		if !now.Before(end) {
			delete(p.ends, spi)
		}
	}
	size := uint64(last-first) + 1
	offset := random() % size
	for range min(size, uint64(sas+len(p.ends)+1)) {
		spi := first + uint32(offset)
		if _, promised := p.ends[spi]; !promised && !taken(spi) {
			p.ends[spi] = now.Add(Larval)
			return spi, true
		}
		offset = (offset + 1) % size
	}
	return 0, false
}

func random() uint64 {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(bytes[:])
}
