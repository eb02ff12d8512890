// Package gcm computes what the crypto chip's key store holds beside an AES key: the GHASH key and its square.
package gcm

import (
	"crypto/aes"
	"encoding/binary"
)

// HashKeys returns H, the encryption of the zero block under key, and H squared (SP 800-38D, 6.4). The key is 16 or 32 bytes.
func HashKeys(key []byte) (h, h2 [16]byte, err error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return h, h2, err
	}
	block.Encrypt(h[:], h[:])
	return h, Multiply(h, h), nil
}

// Multiply is the product in GF(2^128) as GCM orders its bits. Neither the time it takes nor the memory it touches
// depends on the operands.
func Multiply(x, y [16]byte) [16]byte {
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
