// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding"
	"encoding/binary"
	"errors"
	"hash"
)

// hmacStates puts the hash's states behind the blocks key ^ ipad and key ^ opad (RFC 2104, 2) into
// the two halves of Auth. The key is not longer than a block.
func (m *Material) hmacStates(newHash func() hash.Hash, key []byte) error {
	for i, pad := range []byte{0x36, 0x5c} {
		h := newHash()
		block := make([]byte, h.BlockSize())
		copy(block, key)
		for j := range block {
			block[j] ^= pad
		}
		h.Write(block) // never fails (package hash)
		clear(block)
		err := chainingValue(h, m.Auth[32*i:][:h.Size()])
		h.Reset()
		if err != nil {
			return err
		}
	}
	return nil
}

// magicBytes stand before the chaining value in the state that the SHA-1, SHA-256 and SM3
// packages marshal.
const magicBytes = 4

// chainingValue reads the hash's state after whole blocks, which is written as a digest is.
func chainingValue(h hash.Hash, out []byte) error {
	marshaler, ok := h.(encoding.BinaryMarshaler)
	if !ok {
		return errors.New("the hash does not give its state away")
	}
	state, err := marshaler.MarshalBinary()
	if err != nil {
		return err
	}
	defer clear(state)
	want := magicBytes + len(out) + h.BlockSize() + 8
	if len(state) != want || binary.BigEndian.Uint64(state[want-8:]) != uint64(h.BlockSize()) {
		return errors.New("the hash's state is not laid out as in the versions this program was written for")
	}
	copy(out, state[magicBytes:])
	return nil
}
