// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"crypto/cipher"
	"encoding/binary"
)

// hashPowers returns H, the encryption of the zero block by block (SP 800-38D, 6.4), H², H³ and H⁴,
// 16 bytes each.
func hashPowers(block cipher.Block) [64]byte {
	var h [16]byte
	block.Encrypt(h[:], h[:])
	var powers [64]byte
	power := h
	for i := 0; i < len(powers); i += len(h) {
		copy(powers[i:], power[:])
		power = multiply(power, h)
	}
	clear(h[:])
	clear(power[:])
	return powers
}

// multiply is the product in GF(2^128) as GCM orders its bits. Neither the time it takes nor the
// memory it touches depends on the operands.
func multiply(x, y [16]byte) [16]byte {
	xHi, xLo := binary.BigEndian.Uint64(x[:8]), binary.BigEndian.Uint64(x[8:])
	vHi, vLo := binary.BigEndian.Uint64(y[:8]), binary.BigEndian.Uint64(y[8:])
	var zHi, zLo uint64
	for i := range 128 {
		word := xHi
		if i >= 64 {
			word = xLo
		}
		take := -(word >> (63 - i%64) & 1) // all ones where the bit is set
		zHi ^= vHi & take
		zLo ^= vLo & take
		carry := -(vLo & 1)
		vLo = vLo>>1 | vHi<<63
		vHi = vHi>>1 ^ 0xE1<<56&carry
	}
	var z [16]byte
	binary.BigEndian.PutUint64(z[:8], zHi)
	binary.BigEndian.PutUint64(z[8:], zLo)
	return z
}
