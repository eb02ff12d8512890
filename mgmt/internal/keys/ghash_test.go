// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestHashKey is test case 2 of the GCM specification (McGrew and Viega, appendix B): H of the zero
// key, and the product that its GHASH passes through.
func TestHashKey(t *testing.T) {
	block, _ := aes.NewCipher(make([]byte, 16))
	powers := hashPowers(block)
	h := [16]byte(powers[:16])
	if got := hex.EncodeToString(h[:]); got != "66e94bd4ef8a2c3b884cfa59ca342b2e" {
		t.Errorf("H = %s", got)
	}
	var c, product [16]byte
	hex.Decode(c[:], []byte("0388dace60b6a392f328c2b971b2fe78"))
	product = multiply(c, h)
	if got := hex.EncodeToString(product[:]); got != "5e2ec746917062882c85b0685353deb7" {
		t.Errorf("X1 = %s", got)
	}
}

// TestPowersAgainstLibrary builds the tag of three blocks of additional data from H, H², H³ and H⁴
// alone and compares it with crypto/cipher.
func TestPowersAgainstLibrary(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{16, 24, 32} {
		for range 50 {
			key, aad, nonce := make([]byte, size), make([]byte, 48), make([]byte, 12)
			random.Read(key)
			random.Read(aad)
			random.Read(nonce)
			block, _ := aes.NewCipher(key)
			powers := hashPowers(block)
			// GHASH(A1 A2 A3 L) = A1·H⁴ + A2·H³ + A3·H² + L·H
			var sum, length [16]byte
			binary.BigEndian.PutUint64(length[:8], uint64(8*len(aad)))
			for i, text := range [][16]byte{length, [16]byte(aad[32:]), [16]byte(aad[16:]), [16]byte(aad)} {
				product := multiply(text, [16]byte(powers[16*i:]))
				subtle.XORBytes(sum[:], sum[:], product[:])
			}
			mask := append(bytes.Clone(nonce), 0, 0, 0, 1)
			block.Encrypt(mask, mask)
			subtle.XORBytes(sum[:], sum[:], mask)
			library, _ := cipher.NewGCM(block)
			if want := library.Seal(nil, nonce, nil, aad); !bytes.Equal(want, sum[:]) {
				t.Fatalf("tag %x, the library has %x", sum, want)
			}
		}
	}
}
