// SPDX-License-Identifier: Apache-2.0

package roster

import "math/bits"

// Buckets is how many a cluster's frames are hashed into.
const Buckets = 256

// Set is some of the buckets: bit n of word k is bucket 64 k + n.
type Set [Buckets / 64]uint64

// Has says whether a bucket is in the set.
func (s Set) Has(bucket int) bool { return s[bucket/64]>>(bucket%64)&1 != 0 }

// Put adds a bucket.
func (s *Set) Put(bucket int) { s[bucket/64] |= 1 << (bucket % 64) }

// Count is how many buckets are in the set.
func (s Set) Count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// And is what both sets have.
func (s Set) And(other Set) Set {
	for k := range s {
		s[k] &= other[k]
	}
	return s
}

// Words are the set as the registers of a chip have it, 32 buckets each.
func (s Set) Words() (words [Buckets / 32]uint32) {
	for k := range words {
		words[k] = uint32(s[k/2] >> (k % 2 * 32))
	}
	return words
}
