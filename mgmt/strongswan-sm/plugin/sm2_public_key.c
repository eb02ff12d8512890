// SPDX-License-Identifier: GPL-2.0-or-later
#include "sm2_public_key.h"

#include <library.h>
#include <openssl/x509.h>

#include "sm2.h"

typedef struct {
  public_key_t public;
  EVP_PKEY *key;
  refcount_t ref;
} sm2_public_key_t;

METHOD(public_key_t, get_type, key_type_t, sm2_public_key_t *this) { return KEY_SM2; }

METHOD(public_key_t, verify, bool, sm2_public_key_t *this, signature_scheme_t scheme, void *params, chunk_t data,
       chunk_t signature) {
  EVP_MD_CTX *context;
  bool good;

  if (scheme != SIGN_SM2_WITH_SM3) {
    DBG1(DBG_LIB, "signature scheme %N not supported by SM2 key", signature_scheme_names, scheme);
    return FALSE;
  }
  context = sm2_context(this->key, FALSE);
  if (!context) {
    return FALSE;
  }
  good = EVP_DigestVerify(context, signature.ptr, signature.len, data.ptr, data.len) == 1;
  sm2_context_free(context);
  return good;
}

METHOD(public_key_t, encrypt, bool, sm2_public_key_t *this, encryption_scheme_t scheme, void *params, chunk_t plain,
       chunk_t *encrypted) {
  DBG1(DBG_LIB, "encryption with an SM2 key is not supported");
  return FALSE;
}

METHOD(public_key_t, get_keysize, int, sm2_public_key_t *this) { return SM2_KEY_SIZE; }

METHOD(public_key_t, get_fingerprint, bool, sm2_public_key_t *this, cred_encoding_type_t type, chunk_t *fingerprint) {
  return sm2_fingerprint(this->key, type, fingerprint);
}

METHOD(public_key_t, get_encoding, bool, sm2_public_key_t *this, cred_encoding_type_t type, chunk_t *encoding) {
  return sm2_public_encoding(this->key, type, encoding);
}

METHOD(public_key_t, get_ref, public_key_t *, sm2_public_key_t *this) {
  ref_get(&this->ref);
  return &this->public;
}

METHOD(public_key_t, destroy, void, sm2_public_key_t *this) {
  if (ref_put(&this->ref)) {
    lib->encoding->clear_cache(lib->encoding, this->key);
    EVP_PKEY_free(this->key);
    free(this);
  }
}

static public_key_t *create(EVP_PKEY *key) {
  sm2_public_key_t *this;

  INIT(this,
       .public =
           {
               .get_type = _get_type,
               .verify = _verify,
               .encrypt = _encrypt,
               .equals = public_key_equals,
               .get_keysize = _get_keysize,
               .get_fingerprint = _get_fingerprint,
               .has_fingerprint = public_key_has_fingerprint,
               .get_encoding = _get_encoding,
               .get_ref = _get_ref,
               .destroy = _destroy,
           },
       .key = key, .ref = 1, );
  return &this->public;
}

static public_key_t *parse(chunk_t blob) {
  const uint8_t *at = blob.ptr;
  EVP_PKEY *key = blob.len ? sm2_only(d2i_PUBKEY(NULL, &at, blob.len)) : NULL;

  return key ? create(key) : NULL;
}

public_key_t *sm2_public_key_create(EVP_PKEY *key) {
  chunk_t blob = chunk_empty;
  public_key_t *public;

  if (!sm2_public_encoding(key, PUBKEY_SPKI_ASN1_DER, &blob)) {
    return NULL;
  }
  public = parse(blob);
  chunk_free(&blob);
  return public;
}

public_key_t *sm2_public_key_load(key_type_t type, va_list args) { return parse(sm2_builder_blob(args)); }
