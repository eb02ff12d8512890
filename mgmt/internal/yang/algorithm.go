// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"slices"

	"sallyport/mgmt/internal/suite"
)

// algorithm is what the module and the box both name: by IANA's numbers of IKEv2's transforms of
// types 1 and 3, and by Linux's names.
type algorithm struct {
	encryption, integrity uint16 // integrity 0: an AEAD
	crypt, auth           string
}

const (
	encryptionNull  = 11
	encryptionCBC   = 12 // the module's default of an SA
	encryptionGCM16 = 20 // of a policy
	integrityNone   = 0
	integritySHA256 = 12 // the module's default of an SA
)

// algorithms are all such. SM4 and SM3 have no numbers.
var algorithms = []algorithm{
	{encryptionGCM16, integrityNone, "rfc4106(gcm(aes))", ""},
	{21, integrityNone, "rfc4543(gcm(aes))", ""},
	{28, integrityNone, "rfc7539esp(chacha20,poly1305)", ""},
	{13, integritySHA256, "rfc3686(ctr(aes))", "hmac(sha256)"},
	{encryptionCBC, integritySHA256, "cbc(aes)", "hmac(sha256)"},
	{encryptionCBC, 2, "cbc(aes)", "hmac(sha1)"},
	{encryptionNull, integritySHA256, "ecb(cipher_null)", "hmac(sha256)"},
}

// has says whether some algorithm fits.
func has(fits func(algorithm) bool) bool { return slices.ContainsFunc(algorithms, fits) }

// find is the algorithm that fits, and nil if none does.
func find(fits func(algorithm) bool) *algorithm {
	if i := slices.IndexFunc(algorithms, fits); i >= 0 {
		return &algorithms[i]
	}
	return nil
}

// algorithmOf is that of an SA. An AEAD's integrity is not used, whatever it is.
func algorithmOf(encryption, integrity uint16) *algorithm {
	return find(func(a algorithm) bool {
		return a.encryption == encryption && (a.auth == "" || a.integrity == integrity)
	})
}

// icvBits is the length of the ICV. Each of these algorithms has one length.
func (a algorithm) icvBits() int {
	i := slices.IndexFunc(suite.All, func(s suite.Suite) bool { return s.Crypt == a.crypt && s.Auth == a.auth })
	return suite.All[i].ICVBits[0]
}

// keyBits says whether a suite has an encryption with keys of a length, its salt apart.
func keyBits(encryption uint16, bits int) bool {
	return slices.ContainsFunc(suite.All, func(s suite.Suite) bool {
		return s.Key*8 == bits && has(func(a algorithm) bool { return a.encryption == encryption && a.crypt == s.Crypt && a.auth == s.Auth })
	})
}
