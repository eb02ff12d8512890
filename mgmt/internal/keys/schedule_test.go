// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/emmansun/gmsm/sm4"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAESEnd is FIPS 197, appendix A.1 and A.3.
func TestAESEnd(t *testing.T) {
	for key, want := range map[string]string{
		"2b7e151628aed2a6abf7158809cf4f3c":                                 "d014f9a8c9ee2589e13f0cc8b6630ca6",
		"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4": "cafaaae3e4d59b349adf6acebd10190dfe4890d1e6188d0b046df344706c631e",
	} {
		if got := hex.EncodeToString(aesEnd(unhex(t, key))); got != want {
			t.Errorf("the schedule of %s ends in %s, not %s", key, got, want)
		}
	}
}

// TestSM4End runs the schedule backwards from its end, as the hardware does, and decrypts with it:
// example 1 of GB/T 32907, annex A, which names rk31 and rk0, and random blocks against
// the library.
func TestSM4End(t *testing.T) {
	decrypt := func(end, block [16]byte) (out [16]byte, roundKeys []uint32) {
		var k, x [4]uint32
		for i := range k {
			k[i], x[i] = binary.BigEndian.Uint32(end[4*i:]), binary.BigEndian.Uint32(block[4*i:])
		}
		for i := range 32 {
			rk := sm4Step(k[0], k[1], k[2], k[3], sm4CK(35-i))
			k = [4]uint32{k[1], k[2], k[3], rk}
			b := sm4Sbox.word(x[1] ^ x[2] ^ x[3] ^ rk)
			x = [4]uint32{x[1], x[2], x[3], x[0] ^ b ^ bits.RotateLeft32(b, 2) ^ bits.RotateLeft32(b, 10) ^ bits.RotateLeft32(b, 18) ^ bits.RotateLeft32(b, 24)}
			roundKeys = append(roundKeys, rk)
		}
		for i := range x {
			binary.BigEndian.PutUint32(out[4*i:], x[3-i])
		}
		return out, roundKeys
	}
	standard := [16]byte(unhex(t, "0123456789abcdeffedcba9876543210"))
	text, roundKeys := decrypt(sm4End(standard), [16]byte(unhex(t, "681edf34d206965e86b3e94f536e4246")))
	if text != standard || roundKeys[0] != 0x9124a012 || roundKeys[31] != 0xf12186f9 {
		t.Errorf("the standard's example decrypts to %x with round keys %08x", text, roundKeys)
	}
	random := rand.NewChaCha8([32]byte{2})
	for range 50 {
		var key, block [16]byte
		random.Read(key[:])
		random.Read(block[:])
		library, err := sm4.NewCipher(key[:])
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(block[:])
		library.Decrypt(want, want)
		if got, _ := decrypt(sm4End(key), block); !bytes.Equal(got[:], want) {
			t.Fatalf("key %x: %x, the library has %x", key, got, want)
		}
	}
}
