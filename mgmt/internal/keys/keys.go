// SPDX-License-Identifier: Apache-2.0

// Package keys computes the derived part of the crypto chip's key rows: powers of the GHASH key,
// HMAC states, and the ends of key schedules.
package keys

import (
	"crypto/aes"
	"crypto/cipher"

	"github.com/emmansun/gmsm/sm4"

	"sallyport/mgmt/internal/suite"
)

// Material is the secret part of a key row: byte strings, byte 0 lowest.
type Material struct {
	Key  [32]byte
	Auth [64]byte
	Salt [4]byte
}

// Wipe clears the secrets.
func (m *Material) Wipe() { *m = Material{} }

// Compute makes the material of an SA from the key of its cipher, salt included, and that of its
// HMAC. The suite sets the lengths of the keys.
func Compute(s *suite.Suite, crypt, auth []byte, inbound bool) (*Material, error) {
	m := &Material{}
	key, salt := crypt[:s.Key], crypt[s.Key:]
	copy(m.Key[:], key)
	copy(m.Salt[:], salt)
	if s.Mode == suite.CBC && inbound {
		m.scheduleEnd(s.Cipher, key)
	}
	var err error
	switch {
	case s.Hash != nil:
		err = m.hmacStates(s.Hash, auth)
	case s.Mode == suite.GCM || s.Mode == suite.GMAC:
		var block cipher.Block
		if block, err = newBlock(s.Cipher, key); err == nil {
			m.Auth = hashPowers(block)
			forget(block)
		}
	}
	if err != nil {
		m.Wipe()
		return nil, err
	}
	return m, nil
}

func newBlock(c suite.Cipher, key []byte) (cipher.Block, error) {
	if c == suite.SM4 {
		return sm4.NewCipher(key)
	}
	return aes.NewCipher(key)
}

// scheduleEnd puts the key that the inverse cipher starts from in place of the cipher's.
func (m *Material) scheduleEnd(c suite.Cipher, key []byte) {
	if c == suite.SM4 {
		end := sm4End([16]byte(key))
		copy(m.Key[:], end[:])
		clear(end[:])
		return
	}
	end := aesEnd(key)
	copy(m.Key[:], end)
	clear(end)
}
