// SPDX-License-Identifier: GPL-2.0-or-later
#include "sm2.h"

#include <credentials/builder.h>
#include <library.h>
#include <openssl/x509.h>

// GM/T 0009-2012, 10: the signer's identity unless peers agreed on another. Certificates are signed
// with it too.
static const char IDENTITY[] = "1234567812345678";

EVP_PKEY *sm2_only(EVP_PKEY *key) {
  if (key && !EVP_PKEY_is_a(key, "SM2")) {
    EVP_PKEY_free(key);
    return NULL;
  }
  return key;
}

chunk_t sm2_builder_blob(va_list args) {
  chunk_t blob = chunk_empty;
  builder_part_t part;

  // swanctl hands over DER too as what may be PEM, which strongSwan's pem plugin reads for kinds of
  // keys that it knows.
  while ((part = va_arg(args, builder_part_t)) == BUILD_BLOB_ASN1_DER || part == BUILD_BLOB_PEM) {
    blob = va_arg(args, chunk_t);
  }
  return part == BUILD_END ? blob : chunk_empty;
}

EVP_MD_CTX *sm2_context(EVP_PKEY *key, bool sign) {
  EVP_PKEY_CTX *of_key = EVP_PKEY_CTX_new(key, NULL);
  EVP_MD_CTX *context = EVP_MD_CTX_new();

  if (of_key && context && EVP_PKEY_CTX_set1_id(of_key, IDENTITY, sizeof(IDENTITY) - 1) > 0) {
    EVP_MD_CTX_set_pkey_ctx(context, of_key);
    if ((sign ? EVP_DigestSignInit : EVP_DigestVerifyInit)(context, NULL, EVP_sm3(), NULL, key) > 0) {
      return context;
    }
  }
  EVP_MD_CTX_free(context);
  EVP_PKEY_CTX_free(of_key);
  return NULL;
}

void sm2_context_free(EVP_MD_CTX *context) {
  // A context that was given its key's context does not free it: the caller that gave it does.
  EVP_PKEY_CTX *of_key = EVP_MD_CTX_get_pkey_ctx(context);

  EVP_MD_CTX_free(context);
  EVP_PKEY_CTX_free(of_key);
}

bool sm2_public_encoding(EVP_PKEY *key, cred_encoding_type_t type, chunk_t *encoding) {
  uint8_t *at;
  int len = i2d_PUBKEY(key, NULL);

  if (len <= 0) {
    return FALSE;
  }
  *encoding = chunk_alloc(len);
  at = encoding->ptr;
  i2d_PUBKEY(key, &at);
  if (type != PUBKEY_SPKI_ASN1_DER) {
    chunk_t der = *encoding;
    // An encoder has no part for SM2's, and ECDSA's is the same structure.
    bool done =
        lib->encoding->encode(lib->encoding, type, NULL, encoding, CRED_PART_ECDSA_PUB_ASN1_DER, der, CRED_PART_END);
    chunk_free(&der);
    return done;
  }
  return TRUE;
}

bool sm2_fingerprint(EVP_PKEY *key, cred_encoding_type_t type, chunk_t *fingerprint) {
  chunk_t named = chunk_empty;
  hasher_t *sha1;
  bool done = FALSE;

  if (lib->encoding->get_cache(lib->encoding, type, key, fingerprint)) {
    return TRUE;
  }
  if (type == KEYID_PUBKEY_SHA1) {
    uint8_t *point = NULL;
    size_t len = EVP_PKEY_get1_encoded_public_key(key, &point);
    named = chunk_clone(chunk_create(point, len));
    OPENSSL_free(point);
  } else if (type == KEYID_PUBKEY_INFO_SHA1) {
    sm2_public_encoding(key, PUBKEY_SPKI_ASN1_DER, &named);
  }
  sha1 = named.len ? lib->crypto->create_hasher(lib->crypto, HASH_SHA1) : NULL;
  if (sha1 && sha1->allocate_hash(sha1, named, fingerprint)) {
    lib->encoding->cache(lib->encoding, type, key, fingerprint);
    done = TRUE;
  }
  DESTROY_IF(sha1);
  chunk_free(&named);
  return done;
}
