package gcm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestHashKeys is test case 2 of the GCM specification (McGrew and Viega, appendix B): H of the zero key, and the product
// that its GHASH passes through.
func TestHashKeys(t *testing.T) {
	h, _, err := HashKeys(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(h[:]); got != "66e94bd4ef8a2c3b884cfa59ca342b2e" {
		t.Errorf("H = %s", got)
	}
	var c, product [16]byte
	hex.Decode(c[:], []byte("0388dace60b6a392f328c2b971b2fe78"))
	product = Multiply(c, h)
	if got := hex.EncodeToString(product[:]); got != "5e2ec746917062882c85b0685353deb7" {
		t.Errorf("X1 = %s", got)
	}
}

// TestSquareAgainstLibrary builds the tag of two blocks of additional data from H and H² alone and compares it with crypto/cipher.
func TestSquareAgainstLibrary(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{16, 32} {
		for range 50 {
			key, aad, nonce := make([]byte, size), make([]byte, 32), make([]byte, 12)
			random.Read(key)
			random.Read(aad)
			random.Read(nonce)
			h, h2, err := HashKeys(key)
			if err != nil {
				t.Fatal(err)
			}
			// GHASH(A1 A2 L) = A1·H³ + A2·H² + L·H
			var length [16]byte
			binary.BigEndian.PutUint64(length[:8], 256)
			sum := Multiply(Multiply([16]byte(aad[:16]), h2), h)
			second, last := Multiply([16]byte(aad[16:]), h2), Multiply(length, h)
			block, _ := aes.NewCipher(key)
			mask := append(bytes.Clone(nonce), 0, 0, 0, 1)
			block.Encrypt(mask, mask)
			for i := range sum {
				sum[i] ^= second[i] ^ last[i] ^ mask[i]
			}
			library, _ := cipher.NewGCM(block)
			if want := library.Seal(nil, nonce, nil, aad); !bytes.Equal(want, sum[:]) {
				t.Fatalf("tag %x, the library has %x", sum, want)
			}
		}
	}
}

func TestBadKey(t *testing.T) {
	if _, _, err := HashKeys(make([]byte, 15)); err == nil {
		t.Error("a key of 15 bytes was taken")
	}
}
