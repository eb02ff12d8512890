// SPDX-License-Identifier: GPL-2.0-or-later
#include "identifiers.h"

#include <crypto/crypters/crypter.h>
#include <crypto/hashers/hasher.h>
#include <crypto/key_exchange.h>
#include <crypto/prfs/prf.h>
#include <crypto/signers/signer.h>
#include <crypto/transform.h>
#include <library.h>

static const struct {
  transform_type_t type;
  uint16_t algorithm;
  const char *name;
} known[] = {
    {ENCRYPTION_ALGORITHM, ENCR_SM4_CBC, "sm4"},      {ENCRYPTION_ALGORITHM, ENCR_SM4_GCM_ICV16, "sm4gcm16"},
    {INTEGRITY_ALGORITHM, AUTH_HMAC_SM3_128, "sm3"},  {INTEGRITY_ALGORITHM, AUTH_HMAC_SM3_256, "sm3_256"},
    {PSEUDO_RANDOM_FUNCTION, PRF_HMAC_SM3, "prfsm3"}, {KEY_EXCHANGE_METHOD, CURVE_SM2, "curvesm2"},
    {HASH_ALGORITHM, HASH_SM3, "signature_sm3"},
};

static bool is_own(transform_type_t type, uint16_t algorithm) {
  for (int i = 0; i < countof(known); i++) {
    if (known[i].type == type && known[i].algorithm == algorithm) {
      return TRUE;
    }
  }
  return FALSE;
}

static bool is_sound(int i) {
  char *text = lib->settings->get_str(lib->settings, "%s.transform_ids.%s", NULL, lib->ns, known[i].name), *end;
  long id = text ? strtol(text, &end, 10) : known[i].algorithm;
  char *taken;

  if (text && (end == text || *end || id < 1 || id >= TRANSFORM_ID_UNKNOWN)) {
    DBG1(DBG_CFG, "transform_ids.%s of strongswan.conf is '%s': give a number from 1 to %u", known[i].name, text,
         TRANSFORM_ID_UNKNOWN - 1);
    return FALSE;
  }
  taken = enum_to_name(transform_get_enum_names(known[i].type), id);
  if (taken && !is_own(known[i].type, id)) {
    DBG1(DBG_CFG, "transform_ids.%s of strongswan.conf is %ld, which is %s: give a number that nothing else has",
         known[i].name, id, taken);
    return FALSE;
  }
  if (transform_id_from_wire(known[i].type, id) != known[i].algorithm) {
    DBG1(DBG_CFG,
         "transform_ids.%s of strongswan.conf is %ld, as another algorithm's is: give each a number of its own",
         known[i].name, id);
    return FALSE;
  }
  return TRUE;
}

bool identifiers_are_sound() {
  for (int i = 0; i < countof(known); i++) {
    if (!is_sound(i)) {
      return FALSE;
    }
  }
  return TRUE;
}

void identifiers_register_words() {
  for (int i = 0; i < countof(known); i++) {
    if (known[i].type != HASH_ALGORITHM) {
      // SM4 has one length of keys, which therefore is not part of a proposal.
      lib->proposal->register_token(lib->proposal, known[i].name, known[i].type, known[i].algorithm, 0);
    }
  }
}
