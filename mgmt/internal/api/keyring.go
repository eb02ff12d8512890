// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/hpke"
	"crypto/rand"
	"crypto/subtle"
	"sync"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// mostOpened is how many texts are opened by one key: each is remembered, so that none is opened
// twice.
const mostOpened = 1 << 16

// keyring has the key by which clients seal text. It makes another key once that has opened as
// many texts as are remembered.
type keyring struct {
	mu     sync.Mutex
	key    hpke.PrivateKey
	id     []byte
	opened map[[api.EncapsulatedBytes]byte]struct{}
}

func newKeyring() (*keyring, error) {
	k := &keyring{}
	return k, k.renew()
}

func (k *keyring) renew() (err error) {
	k.key, err = api.NewSealingKey()
	k.id, k.opened = []byte(rand.Text()), map[[api.EncapsulatedBytes]byte]struct{}{}
	return err
}

// public is what clients are told.
func (k *keyring) public() *sallyportv1.GetSealingKeyResponse {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &sallyportv1.GetSealingKeyResponse{KeyId: k.id, PublicKey: k.key.PublicKey().Bytes(), Kem: api.KEM, Kdf: api.KDF, Aead: api.AEAD}
}

// open gives the text that was sealed for a method. The caller wipes it.
func (k *keyring) open(s *sallyportv1.Sealed, method string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case subtle.ConstantTimeCompare(s.KeyId, k.id) != 1:
		return nil, errorf(connect.CodeAborted, "the text was sealed for another key than the daemon has now: ask GetSealingKey again")
	case len(s.Text) < api.SealedOverhead:
		return nil, errorf(connect.CodeInvalidArgument, "the sealed text has %d bytes, and the shortest has %d", len(s.Text), api.SealedOverhead)
	}
	encapsulated := [api.EncapsulatedBytes]byte(s.Text)
	if _, seen := k.opened[encapsulated]; seen {
		return nil, errorf(connect.CodeInvalidArgument, "the sealed text was opened before: seal it anew")
	}
	text, err := api.Unseal(k.key, method, s.Text)
	if err != nil {
		return nil, errorf(connect.CodeInvalidArgument, "the sealed text cannot be opened: it was changed, or sealed for another method than %s", method)
	}
	if k.opened[encapsulated] = struct{}{}; len(k.opened) == mostOpened {
		err = k.renew()
	}
	return text, err
}
