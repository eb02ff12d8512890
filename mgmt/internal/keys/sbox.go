// SPDX-License-Identifier: Apache-2.0

package keys

// sbox is an S-box of AES or SM4 as its standard's algebra defines it: an inversion in GF(2^8)
// between affine maps. Computed instead of looked up, so that neither its time nor the memory it
// touches depends on a key.
type sbox struct {
	polynomial uint16
	before     affine
	after      affine
}

// affine XORs the rotations of a byte named by the bits of rotate (bit n: left by n) and
// a constant.
type affine struct{ rotate, constant byte }

var (
	aesSbox = sbox{0x11b, affine{1, 0}, affine{0x1f, 0x63}} // FIPS 197, 5.1.1
	// equal to the table of GB/T 32907, 6.2
	sm4Sbox = sbox{0x1f5, affine{0xcb, 0xd3}, affine{0xcb, 0xd3}}
)

func (a affine) of(x byte) byte {
	y := a.constant
	for n := range 8 {
		y ^= (x<<n | x>>(8-n)) & -(a.rotate >> n & 1)
	}
	return y
}

func (s sbox) of(x byte) byte { return s.after.of(s.inverse(s.before.of(x))) }

// inverse is x^254, which is 0 for 0.
func (s sbox) inverse(x byte) byte {
	y := byte(1)
	for range 7 {
		y = s.multiply(y, x)
		y = s.multiply(y, y)
	}
	return y
}

func (s sbox) multiply(x, y byte) byte {
	product, shifted := byte(0), uint16(x)
	for n := range 8 {
		product ^= byte(shifted) & -(y >> n & 1)
		shifted <<= 1
		shifted ^= s.polynomial & -(shifted >> 8)
	}
	return product
}

// word substitutes the four bytes of a word.
func (s sbox) word(w uint32) uint32 {
	return uint32(s.of(byte(w>>24)))<<24 | uint32(s.of(byte(w>>16)))<<16 | uint32(s.of(byte(w>>8)))<<8 | uint32(s.of(byte(w)))
}
