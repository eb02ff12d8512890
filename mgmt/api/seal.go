// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
)

// The suite of sealed text, by its numbers in RFC 9180, 7: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256
// and AES-256-GCM.
const (
	KEM  = 0x0020
	KDF  = 0x0001
	AEAD = 0x0002
)

// EncapsulatedBytes is how long the encapsulated key is, which is in front of a ciphertext.
const EncapsulatedBytes = 32

// SealedOverhead is how many bytes longer than its text a sealed one is.
const SealedOverhead = EncapsulatedBytes + 16

// info binds sealed text to this API and to the method that takes it.
func info(method string) []byte { return []byte("sallyport.v1/" + method) }

// Seal seals text for the daemon that has the private key (RFC 9180, 6.1). Only the method that is
// named opens it.
func Seal(public []byte, method string, text []byte) ([]byte, error) {
	key, err := ecdh.X25519().NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("the daemon's sealing key is none of X25519: %w", err)
	}
	recipient, err := hpke.NewDHKEMPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("the daemon's sealing key cannot be used: %w", err)
	}
	return hpke.Seal(recipient, hpke.HKDFSHA256(), hpke.AES256GCM(), info(method), text)
}

// NewSealingKey makes a key pair, for a daemon.
func NewSealingKey() (hpke.PrivateKey, error) { return hpke.DHKEM(ecdh.X25519()).GenerateKey() }

// Unseal opens what Seal has sealed, into memory that has nothing else.
func Unseal(key hpke.PrivateKey, method string, sealed []byte) ([]byte, error) {
	return hpke.Open(key, hpke.HKDFSHA256(), hpke.AES256GCM(), info(method), sealed)
}
