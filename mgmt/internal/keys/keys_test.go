// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"crypto/hmac"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"testing"

	"sallyport/mgmt/internal/suite"
)

func compute(t *testing.T, s *suite.Suite, inbound bool) (m *Material, crypt, auth []byte) {
	t.Helper()
	crypt, auth = make([]byte, s.Key+s.Salt), make([]byte, s.AuthKey)
	for i := range crypt {
		crypt[i] = byte(i + 1)
	}
	for i := range auth {
		auth[i] = byte(0x80 + i)
	}
	m, err := Compute(s, crypt, auth, inbound)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return m, crypt, auth
}

// TestEveryPartOfEverySuite: where the key, the salt and what the hash needs stand in a row, for
// every suite both ways.
func TestEveryPartOfEverySuite(t *testing.T) {
	for i := range suite.All {
		s := &suite.All[i]
		for _, inbound := range []bool{false, true} {
			m, crypt, auth := compute(t, s, inbound)
			ends := inbound && s.Mode == suite.CBC
			if plain := bytes.Equal(m.Key[:s.Key], crypt[:s.Key]); s.Key > 0 && plain == ends {
				t.Errorf("%s, inbound %t: the key is plain: %t", s.Name, inbound, plain)
			}
			if !bytes.Equal(m.Key[s.Key:], make([]byte, 32-s.Key)) || !bytes.Equal(m.Salt[:s.Salt], crypt[s.Key:]) {
				t.Errorf("%s, inbound %t: key %x, salt %x", s.Name, inbound, m.Key, m.Salt)
			}
			switch {
			case s.Hash != nil:
				message := []byte("what RFC 2104 says of inner and outer states")
				library := hmac.New(s.Hash, auth)
				library.Write(message)
				if got, want := hmacFromStates(t, s.Hash, m.Auth, message), library.Sum(nil); !bytes.Equal(got, want) {
					t.Errorf("%s: HMAC %x, the library has %x", s.Name, got, want)
				}
			case s.Mode == suite.Poly1305:
				if m.Auth != [64]byte{} {
					t.Errorf("%s: auth %x", s.Name, m.Auth)
				}
			default:
				h, h3 := [16]byte(m.Auth[:]), [16]byte(m.Auth[32:])
				if multiply(multiply(h, h), h) != h3 {
					t.Errorf("%s: auth %x holds no powers", s.Name, m.Auth)
				}
			}
			m.Wipe()
			if *m != (Material{}) {
				t.Errorf("%s: not wiped", s.Name)
			}
		}
	}
}

// hmacFromStates finishes both hashes from their states by the libraries' own unmarshalling.
func hmacFromStates(t *testing.T, newHash func() hash.Hash, states [64]byte, message []byte) []byte {
	t.Helper()
	for half := range 2 {
		h := newHash()
		state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		copy(state[4:], states[32*half:][:h.Size()])
		binary.BigEndian.PutUint64(state[len(state)-8:], uint64(h.BlockSize()))
		if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		h.Write(message)
		message = h.Sum(nil)
	}
	return message
}

// TestSM4HashKey: H of SM4-GCM for the key of RFC 8998, A.1, from OpenSSL.
func TestSM4HashKey(t *testing.T) {
	s := suite.Find("rfc4106(gcm(sm4))", 20, "", 128)
	m, err := Compute(s, unhex(t, "0123456789abcdeffedcba9876543210aabbccdd"), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(m.Auth[:16]); got != sm4HashKey {
		t.Errorf("H = %s, not %s", got, sm4HashKey)
	}
}

const sm4HashKey = "2677f46b09c122cc975533105bd4a22a"

// opaque is a hash that marshals nothing that could be read.
type opaque struct{ hash.Hash }

func (opaque) MarshalBinary() ([]byte, error) { return []byte("short"), nil }

type failing struct{ hash.Hash }

func (failing) MarshalBinary() ([]byte, error) { return nil, errors.New("no") }

func TestHashesWithoutAState(t *testing.T) {
	var m Material
	inner := suite.Find("ecb(cipher_null)", 0, "hmac(sha256)", 128).Hash
	for _, h := range []func() hash.Hash{
		func() hash.Hash { return struct{ hash.Hash }{inner()} },
		func() hash.Hash { return opaque{inner()} },
		func() hash.Hash { return failing{inner()} },
	} {
		if err := m.hmacStates(h, []byte("key")); err == nil {
			t.Error("a state was taken from a hash that gives none")
		}
	}
}
