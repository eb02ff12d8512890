// Package suite lists the ESP suites of the crypto chip under strongSwan's and Linux's names.
package suite

import (
	"crypto/sha1"
	"crypto/sha256"
	"hash"
	"slices"

	"github.com/emmansun/gmsm/sm3"

	"sallyport/mgmt/internal/regs"
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

// Suite is one ESP suite. Lengths of keys are in bytes.
type Suite struct {
	// Number is the key rows' suite, and its bit in the capability register.
	Number uint64
	// Name is strongSwan's.
	Name string
	// Crypt and Auth are Linux's names. A suite without Auth is an AEAD.
	Crypt, Auth        string
	Key, Salt, AuthKey int
	ICVBits            []int
	Cipher             Cipher
	Mode               Mode
	Hash               func() hash.Hash
}

// Linux's names.
const (
	gcmAES  = "rfc4106(gcm(aes))"
	gcmSM4  = "rfc4106(gcm(sm4))"
	gmacAES = "rfc4543(gcm(aes))"
	chacha  = "rfc7539esp(chacha20,poly1305)"
	cbcAES  = "cbc(aes)"
	cbcSM4  = "cbc(sm4)"
	ctrAES  = "rfc3686(ctr(aes))"
	ctrSM4  = "rfc3686(ctr(sm4))"
	null    = "ecb(cipher_null)"
	hmac256 = "hmac(sha256)"
	hmac1   = "hmac(sha1)"
	hmacSM3 = "hmac(sm3)"
)

// All is every suite.
var All = []Suite{
	aead(regs.SuiteAes128gcm16, "aes128gcm16", gcmAES, 16, AES, GCM),
	aead(regs.SuiteAes192gcm16, "aes192gcm16", gcmAES, 24, AES, GCM),
	aead(regs.SuiteAes256gcm16, "aes256gcm16", gcmAES, 32, AES, GCM),
	aead(regs.SuiteSm4gcm16, "sm4gcm16", gcmSM4, 16, SM4, GCM),
	aead(regs.SuiteAes256gmac, "aes256gmac", gmacAES, 32, AES, GMAC),
	aead(regs.SuiteChacha20poly1305, "chacha20poly1305", chacha, 32, ChaCha20, Poly1305),
	withSHA256(regs.SuiteAes128ctrSha256, "aes128ctr-sha256", ctrAES, 16, 4, AES, CTR),
	withSHA256(regs.SuiteAes256ctrSha256, "aes256ctr-sha256", ctrAES, 32, 4, AES, CTR),
	withSHA256(regs.SuiteAes128Sha256, "aes128-sha256", cbcAES, 16, 0, AES, CBC),
	withSHA256(regs.SuiteAes256Sha256, "aes256-sha256", cbcAES, 32, 0, AES, CBC),
	{Number: regs.SuiteAes256Sha1, Name: "aes256-sha1", Crypt: cbcAES, Auth: hmac1, Key: 32, AuthKey: sha1.Size, ICVBits: []int{96}, Cipher: AES, Mode: CBC, Hash: sha1.New},
	withSHA256(regs.SuiteNullSha256, "null-sha256", null, 0, 0, Null, Plain),
	withSM3(regs.SuiteSm4Sm3, "sm4-sm3", cbcSM4, 0, CBC),
	withSM3(regs.SuiteSm4ctrSm3, "sm4ctr-sm3", ctrSM4, 4, CTR),
}

// aead has a salt of 4 bytes and an ICV of 128 bits: RFC 4106, 4543 and 7634.
func aead(number uint64, name, linux string, key int, cipher Cipher, mode Mode) Suite {
	return Suite{Number: number, Name: name, Crypt: linux, Key: key, Salt: 4, ICVBits: []int{128}, Cipher: cipher, Mode: mode}
}

// withSHA256 has an HMAC key of 32 bytes and an ICV of 128 bits: RFC 4868, 2.
func withSHA256(number uint64, name, linux string, key, salt int, cipher Cipher, mode Mode) Suite {
	return Suite{Number: number, Name: name, Crypt: linux, Auth: hmac256, Key: key, Salt: salt, AuthKey: sha256.Size, ICVBits: []int{128}, Cipher: cipher, Mode: mode, Hash: sha256.New}
}

// withSM3 has SM4 and an HMAC key of 32 bytes; no standard of the IETF fixes the length of its ICV.
func withSM3(number uint64, name, linux string, salt int, mode Mode) Suite {
	return Suite{Number: number, Name: name, Crypt: linux, Auth: hmacSM3, Key: 16, Salt: salt, AuthKey: sm3.Size, ICVBits: []int{96, 128, 256}, Cipher: SM4, Mode: mode, Hash: sm3.New}
}

// Find is the suite of these algorithms, by Linux's names; auth is "" for an AEAD. The key's length has the salt in it.
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

// Repetition says what a key's second use breaks when the sequence numbers, and all that is made of them, start again; "" is nothing.
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
