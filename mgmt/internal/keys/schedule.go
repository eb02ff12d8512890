// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/binary"
	"math/bits"
)

// aesEnd returns the last words of the expanded key, as many as the key has: where a schedule that
// runs backwards starts (FIPS 197, 5.2).
func aesEnd(key []byte) []byte {
	nk := len(key) / 4
	words := make([]uint32, 4*(nk+7))
	defer clear(words)
	rcon := byte(1)
	for i := range words {
		if i < nk {
			words[i] = binary.BigEndian.Uint32(key[4*i:])
			continue
		}
		w := words[i-1]
		switch {
		case i%nk == 0:
			w = aesSbox.word(bits.RotateLeft32(w, 8)) ^ uint32(rcon)<<24
			rcon = aesSbox.multiply(rcon, 2)
		case nk == 8 && i%nk == 4:
			w = aesSbox.word(w)
		}
		words[i] = words[i-nk] ^ w
	}
	end := make([]byte, 0, len(key))
	for _, w := range words[len(words)-nk:] {
		end = binary.BigEndian.AppendUint32(end, w)
	}
	return end
}

// System parameters of SM4's key expansion (GB/T 32907, 7.3).
var sm4FK = [4]uint32{0xa3b1bac6, 0x56aa3350, 0x677d9197, 0xb27022dc}

const sm4Rounds = 32

// sm4CK is the constant of step i: bytes (4i + j) · 7 mod 256, here for i beyond 31 too.
func sm4CK(i int) (ck uint32) {
	for j := range 4 {
		ck = ck<<8 | uint32(byte((4*i+j)*7))
	}
	return ck
}

// sm4Step is T' of the words' sum, XORed into the word before them (GB/T 32907, 7.3).
func sm4Step(k0, k1, k2, k3, ck uint32) uint32 {
	b := sm4Sbox.word(k1 ^ k2 ^ k3 ^ ck)
	return k0 ^ b ^ bits.RotateLeft32(b, 13) ^ bits.RotateLeft32(b, 23)
}

// sm4End returns K39, K38, K37, K36 of the key schedule run on four steps beyond its end. The same
// step, with the constants in reverse order, makes rk31, rk30 … of them as they are needed.
func sm4End(key [16]byte) (end [16]byte) {
	var k [4]uint32
	for i := range k {
		k[i] = binary.BigEndian.Uint32(key[4*i:]) ^ sm4FK[i]
	}
	for i := range sm4Rounds + len(k) {
		k[i%4] = sm4Step(k[i%4], k[(i+1)%4], k[(i+2)%4], k[(i+3)%4], sm4CK(i))
	}
	for i := range k {
		binary.BigEndian.PutUint32(end[4*i:], k[3-i])
	}
	clear(k[:])
	return end
}
