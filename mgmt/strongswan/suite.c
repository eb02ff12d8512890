// SPDX-License-Identifier: GPL-2.0-or-later
#include "suite.h"

#include <crypto/crypters/crypter.h>
#include <crypto/signers/signer.h>

// The numbers that ../strongswan-sm's patches give the ShangMi algorithms, in the range for private use. This plugin
// serves the distribution's charon too, whose headers have none, and which never negotiates them.
enum { SM4_CBC = 1100, SM4_GCM_ICV16 = 1101, HMAC_SM3_128 = 1100, HMAC_SM3_256 = 1101 };

// Lengths are in bytes, with the salt that GCM, GMAC, ChaCha20 and CTR have behind the key.
static const struct {
  uint16_t encryption, integrity;  // encryption_algorithm_t and integrity_algorithm_t, or one of the above
  size_t key, integrity_key;
  const char *encryption_words, *integrity_words, *bits;
} suites[] = {
    {ENCR_AES_GCM_ICV16, AUTH_UNDEFINED, 20, 0, "aead \"rfc4106(gcm(aes))\"", "", " 128"},
    {ENCR_AES_GCM_ICV16, AUTH_UNDEFINED, 28, 0, "aead \"rfc4106(gcm(aes))\"", "", " 128"},
    {ENCR_AES_GCM_ICV16, AUTH_UNDEFINED, 36, 0, "aead \"rfc4106(gcm(aes))\"", "", " 128"},
    {ENCR_NULL_AUTH_AES_GMAC, AUTH_UNDEFINED, 36, 0, "aead \"rfc4543(gcm(aes))\"", "", " 128"},
    {ENCR_CHACHA20_POLY1305, AUTH_UNDEFINED, 36, 0, "aead \"rfc7539esp(chacha20,poly1305)\"", "", " 128"},
    {ENCR_AES_CBC, AUTH_HMAC_SHA2_256_128, 16, 32, "enc \"cbc(aes)\"", " auth-trunc \"hmac(sha256)\"", " 128"},
    {ENCR_AES_CBC, AUTH_HMAC_SHA2_256_128, 32, 32, "enc \"cbc(aes)\"", " auth-trunc \"hmac(sha256)\"", " 128"},
    {ENCR_AES_CBC, AUTH_HMAC_SHA1_96, 32, 20, "enc \"cbc(aes)\"", " auth \"hmac(sha1)\"", ""},
    {ENCR_AES_CTR, AUTH_HMAC_SHA2_256_128, 20, 32, "enc \"rfc3686(ctr(aes))\"", " auth-trunc \"hmac(sha256)\"", " 128"},
    {ENCR_AES_CTR, AUTH_HMAC_SHA2_256_128, 36, 32, "enc \"rfc3686(ctr(aes))\"", " auth-trunc \"hmac(sha256)\"", " 128"},
    {SM4_GCM_ICV16, AUTH_UNDEFINED, 20, 0, "aead \"rfc4106(gcm(sm4))\"", "", " 128"},
    {SM4_CBC, HMAC_SM3_128, 16, 32, "enc \"cbc(sm4)\"", " auth-trunc \"hmac(sm3)\"", " 128"},
    {SM4_CBC, HMAC_SM3_256, 16, 32, "enc \"cbc(sm4)\"", " auth-trunc \"hmac(sm3)\"", " 256"},
    {ENCR_NULL, AUTH_HMAC_SHA2_256_128, 0, 32, "enc \"ecb(cipher_null)\"", " auth-trunc \"hmac(sha256)\"", " 128"},
};

bool suite_add_words(line_t *words, const kernel_ipsec_add_sa_t *sa) {
  for (size_t i = 0; i < countof(suites); i++) {
    if (sa->enc_alg != suites[i].encryption || sa->int_alg != suites[i].integrity || sa->enc_key.len != suites[i].key ||
        sa->int_key.len != suites[i].integrity_key) {
      continue;
    }
    line_add(words, " %s ", suites[i].encryption_words);
    if (sa->enc_key.len) {
      line_add_key(words, sa->enc_key);
    } else {
      line_add(words, "\"\"");
    }
    if (sa->int_key.len) {
      line_add(words, "%s ", suites[i].integrity_words);
      line_add_key(words, sa->int_key);
    }
    line_add(words, "%s", suites[i].bits);
    return TRUE;
  }
  return FALSE;
}
