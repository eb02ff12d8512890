// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/suite"
)

// Keys of the lengths that the suites take.
const (
	aes128    = "0x000102030405060708090a0b0c0d0e0f"
	aes256    = "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	sha1Key   = "0x202122232425262728292a2b2c2d2e2f30313233"
	sha256Key = "0x202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
	sha256    = "auth-trunc hmac(sha256) " + sha256Key + " 128"
)

func zeros(n int) string { return "0x" + strings.Repeat("00", n) }

// TestSuites: every suite can be written, with every length of ICV it has.
func TestSuites(t *testing.T) {
	const key192 = aes128 + "1011121314151617a0a1a2a3"
	written := map[string]bool{}
	for line, want := range map[string]string{
		gcm: "aes128gcm16 128",
		"aead rfc4106(gcm(aes)) " + key192 + " 128":                                       "aes192gcm16 128",
		"aead rfc4106(gcm(aes)) " + key256 + " 128":                                       "aes256gcm16 128",
		"aead rfc4106(gcm(sm4)) " + key128 + " 128":                                       "sm4gcm16 128",
		"aead rfc4543(gcm(aes)) " + key256 + " 128":                                       "aes256gmac 128",
		"aead rfc7539esp(chacha20,poly1305) " + key256 + " 128":                           "chacha20poly1305 128",
		"enc rfc3686(ctr(aes)) " + key128 + " " + sha256:                                  "aes128ctr-sha256 128",
		"enc rfc3686(ctr(aes)) " + key256 + " " + sha256:                                  "aes256ctr-sha256 128",
		sha256 + " enc cbc(aes) " + aes128:                                                "aes128-sha256 128",
		"enc cbc(aes) " + aes256 + " " + sha256:                                           "aes256-sha256 128",
		"enc aes " + aes256 + " auth-trunc sha256 " + sha256Key + " 128":                  "aes256-sha256 128",
		"enc cbc(aes) " + aes256 + " auth hmac(sha1) " + sha1Key:                          "aes256-sha1 96",
		"enc cbc(aes) " + aes256 + " auth-trunc hmac(sha1) " + sha1Key + " 96":            "aes256-sha1 96",
		"enc ecb(cipher_null) '' " + sha256:                                               "null-sha256 128",
		"enc cbc(sm4) " + aes128 + " auth-trunc hmac(sm3) " + sha256Key + " 96":           "sm4-sm3 96",
		"enc cbc(sm4) " + aes128 + " auth-trunc hmac(sm3) " + sha256Key + " 128":          "sm4-sm3 128",
		"enc cbc(sm4) " + aes128 + " auth hmac(sm3) " + sha256Key:                         "sm4-sm3 256",
		"enc rfc3686(ctr(sm4)) " + key128 + " auth-trunc hmac(sm3) " + sha256Key + " 256": "sm4ctr-sm3 256",
	} {
		state := parseOne(t, "xfrm state add "+sa+"mode tunnel "+line).(StateAdd).State
		got := fmt.Sprintf("%s %d", state.Suite().Name, state.ICVBits())
		if got != want {
			t.Errorf("%s is %s, not %s", line, got, want)
		}
		written[state.Suite().Name] = true
		state.Wipe()
		for _, a := range []Algorithm{state.Aead, state.Enc, state.Auth} {
			if strings.Trim(string(a.Key), "\x00") != "" {
				t.Errorf("%s: a key was not wiped", line)
			}
		}
	}
	if len(written) != len(suite.All) {
		t.Errorf("%d of %d suites were written", len(written), len(suite.All))
	}
}

// TestAlgorithmRefusals: words that are no suite are refused in one sentence that names the allowed
// ones and shows no key.
func TestAlgorithmRefusals(t *testing.T) {
	const allGCM = "use rfc4106(gcm(aes)), rfc4543(gcm(aes)), rfc7539esp(chacha20,poly1305) or rfc4106(gcm(sm4))"
	for line, reason := range map[string]string{
		"":                                     "needs its algorithm",
		gcm + " " + gcm:                        "a second",
		"enc cbc(aes) " + aes128 + " " + gcm:   "a second",
		gcm + " " + sha256:                     "a second",
		sha256 + " auth hmac(sha1) " + sha1Key: "a second",
		"enc cbc(aes) " + aes128 + " enc cbc(aes) " + aes128: "a second",
		"comp deflate": "comp is not supported",
		"aead rfc4309(ccm(aes)) " + key128 + " 128":               allGCM,
		"aead " + key128 + " 128":                                 "aead <redacted> is not supported: " + allGCM,
		"aead cbc(aes) " + aes128 + " 128":                        allGCM,
		"aead rfc4106(gcm(aes)) 0x0102 128":                       "has 2 bytes: it must have 20, 28 or 36, the last 4 being the salt",
		"aead rfc4106(gcm(aes)) " + key256 + "00 128":             "has 37 bytes: it must have 20, 28 or 36",
		"aead rfc4106(gcm(sm4)) " + key256 + " 128":               "has 36 bytes: it must have 20",
		"aead rfc4543(gcm(aes)) " + key128 + " 128":               "has 20 bytes: it must have 36",
		"aead rfc7539esp(chacha20,poly1305) " + aes256 + " 128":   "has 32 bytes: it must have 36, the last 4 being the salt",
		"aead rfc4106(gcm(aes)) " + key128[:40] + "zz 128":        "not hexadecimal",
		"aead rfc4106(gcm(aes)) " + key128 + " 96":                "an ICV of 96 bits is not supported with rfc4106(gcm(aes)): use 128",
		"aead rfc4106(gcm(aes)) " + key128:                        "ICV length",
		"aead rfc4106(gcm(aes)) " + zeros(16) + "a0a1a2a3 128":    "all zeros",
		"enc cbc(aes) " + key128 + " " + sha256:                   "has 20 bytes: it must have 16 or 32",
		"enc cbc(aes) " + aes128 + "1011121314151617 " + sha256:   "has 24 bytes: it must have 16 or 32",
		"enc cbc(sm4) " + aes256 + " auth hmac(sm3) " + sha256Key: "has 32 bytes: it must have 16",
		"enc rfc3686(ctr(aes)) " + aes128 + " " + sha256:          "has 16 bytes: it must have 20",
		"enc ecb(cipher_null) 0x00 " + sha256:                     "has 1 bytes: it must have 0",
		"enc cbc(aes) " + zeros(32) + " " + sha256:                "all zeros",
		"enc cbc(camellia) " + aes128:                             "use rfc3686(ctr(aes)), cbc(aes), ecb(cipher_null), cbc(sm4) or rfc3686(ctr(sm4))",
		"enc rfc4106(gcm(aes)) " + key128:                         "enc \"rfc4106(gcm(aes))\" is not supported",
		"auth hmac(sha512) " + sha256Key:                          "use hmac(sha256), hmac(sha1) or hmac(sm3)",
		"auth hmac(sha256) " + sha256Key:                          "an ICV of 96 bits, as in Linux, which is not supported: use auth-trunc \"hmac(sha256)\" KEY 128",
		"auth-trunc hmac(sha256) " + sha1Key + " 128":             "has 20 bytes: it must have 32",
		"auth-trunc hmac(sha256) " + sha256Key + " 96":            "use 128",
		"auth-trunc hmac(sha1) " + sha1Key + " 160":               "use 96",
		"auth-trunc hmac(sm3) " + sha256Key + " 160":              "use 96, 128 or 256",
		"auth-trunc hmac(sha256) " + zeros(32) + " 128":           "all zeros",
		"enc cbc(aes) " + aes128:                                  "enc without auth is refused",
		sha256:                                                    "auth without enc is not supported",
		"enc cbc(aes) " + aes128 + " auth hmac(sha1) " + sha1Key:  "are no suite of this box: cbc(aes) goes with a key of 16 bytes and auth-trunc \"hmac(sha256)\" KEY 128, or with a key of 32 bytes and auth-trunc \"hmac(sha256)\" KEY 128, or with a key of 32 bytes and auth-trunc \"hmac(sha1)\" KEY 96",
		"enc cbc(sm4) " + aes128 + " " + sha256:                   "cbc(sm4) goes with a key of 16 bytes and auth-trunc \"hmac(sm3)\" KEY 96, 128 or 256",
		"enc cbc(aes) " + aes256 + " auth hmac(sm3) " + sha256Key: "are no suite",
		"enc ecb(cipher_null) '' auth hmac(sha1) " + sha1Key:      "are no suite",
		"enc rfc3686(ctr(sm4)) " + key128 + " " + sha256:          "are no suite",
		"enc cbc(des3_ede) " + key128:                             "RFC 8221",
		"enc des " + key128:                                       "RFC 8221",
		"enc 3DES " + key128:                                      "RFC 8221",
		"auth hmac(md5) " + key128:                                "RFC 8221",
		"auth-trunc hmac(md5) " + key128 + " 96":                  "RFC 8221",
	} {
		_, err := ParseBatch("f", []byte("xfrm state add "+sa+"mode tunnel "+line))
		if err == nil {
			t.Errorf("accepted: %s", line)
			continue
		}
		message := err.Error()
		if !strings.HasPrefix(message, "f:1: ") || !strings.Contains(message, reason) || strings.Contains(message, "\n") {
			t.Errorf("%s\n gave %q\n want %q", line, message, reason)
		}
		if strings.Contains(message, "0102030405") || strings.Contains(message, "2122232425") {
			t.Errorf("%s: a key is in %q", line, message)
		}
	}
}
