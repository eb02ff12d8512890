// SPDX-License-Identifier: GPL-2.0-or-later
#include "suite.h"

#include <crypto/crypters/crypter.h>
#include <crypto/signers/signer.h>

// The numbers that ../strongswan-sm's patches give the ShangMi algorithms, in the range for private
// use. This plugin serves the distribution's charon too, whose headers have none, and which never
// negotiates them.
enum { SM4_CBC = 1100, SM4_GCM_ICV16 = 1101, HMAC_SM3_128 = 1100, HMAC_SM3_256 = 1101 };

// What regs/suites.yaml lists and IKE has numbers for. Lengths are in bytes, with the salt that
// GCM, GMAC, ChaCha20 and CTR have behind the key.
static const struct {
  // encryption_algorithm_t and integrity_algorithm_t, or one of the above
  uint16_t encryption, integrity;
  size_t key, integrity_key;
  const char *kind, *encryption_name, *integrity_name;
  unsigned icv_bits;
} suites[] = {
#include "suites.inc"
};

bool suite_add_words(line_t *words, const kernel_ipsec_add_sa_t *sa) {
  for (size_t i = 0; i < countof(suites); i++) {
    if (sa->enc_alg != suites[i].encryption || sa->int_alg != suites[i].integrity || sa->enc_key.len != suites[i].key ||
        sa->int_key.len != suites[i].integrity_key) {
      continue;
    }
    line_add(words, " %s \"%s\" ", suites[i].kind, suites[i].encryption_name);
    if (sa->enc_key.len) {
      line_add_key(words, sa->enc_key);
    } else {
      line_add(words, "\"\"");
    }
    if (sa->int_key.len) {
      line_add(words, " auth-trunc \"%s\" ", suites[i].integrity_name);
      line_add_key(words, sa->int_key);
    }
    line_add(words, " %u", suites[i].icv_bits);
    return TRUE;
  }
  return FALSE;
}
