// SPDX-License-Identifier: Apache-2.0

// Package suite lists the ESP suites of the crypto chip under strongSwan's and Linux's names. The
// list comes from regs/suites.yaml.
package suite

import (
	"crypto/sha1"
	"crypto/sha256"
	"hash"
	"slices"

	"github.com/emmansun/gmsm/sm3"
)

// Cipher is what a suite encrypts blocks with.
type Cipher int

// Ciphers.
const (
	Null Cipher = iota
	AES
	SM4
	ChaCha20
)

// Mode is how a suite uses its cipher.
type Mode int

// Modes. GMAC is GCM with nothing encrypted.
const (
	Plain Mode = iota
	GCM
	GMAC
	CTR
	CBC
	Poly1305
)

// Suite is one ESP suite. Lengths are in bytes where they do not say bits.
type Suite struct {
	// Number is the key rows' suite, and its bit in the capability register.
	Number uint64
	// Name is strongSwan's.
	Name string
	// Crypt and Auth are Linux's names. A suite without Auth is an AEAD.
	Crypt, Auth        string
	Key, Salt, AuthKey int
	// IV is on the wire. Align is what payload and trailer are padded to a multiple of.
	IV, Align int
	ICVBits   []int
	Cipher    Cipher
	Mode      Mode
	Hash      func() hash.Hash
}

// Hashes of HMACs, by the list's names.
var newSHA1, newSHA256, newSM3 = sha1.New, sha256.New, sm3.New

// Find is the suite of these algorithms, by Linux's names; auth is "" for an AEAD. The key's length
// has the salt in it.
func Find(crypt string, keyBytes int, auth string, icvBits int) *Suite {
	for i := range All {
		if s := &All[i]; s.Crypt == crypt && s.Key+s.Salt == keyBytes && s.Auth == auth && slices.Contains(s.ICVBits, icvBits) {
			return s
		}
	}
	return nil
}

// Built says whether a chip has the suite, by its capability bits.
func (s *Suite) Built(capability uint32) bool { return capability>>s.Number&1 == 1 }

// Names lists the suites that a chip has.
func Names(capability uint32) []string {
	var names []string
	for _, s := range All {
		if s.Built(capability) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Repetition names the harm of a key's second use, when the sequence numbers and all that is made
// of them start again; "" is none.
func (s *Suite) Repetition() string {
	switch s.Mode {
	case GCM, GMAC, Poly1305:
		return "nonces repeat, which breaks secrecy and authenticity alike"
	case CTR:
		return "counter blocks repeat, which gives the texts away"
	case CBC:
		return "IVs repeat, which shows where texts begin alike"
	}
	return ""
}
