// SPDX-License-Identifier: GPL-2.0-or-later
#include "sm2_private_key.h"

#include <library.h>
#include <openssl/x509.h>

#include "sm2.h"
#include "sm2_public_key.h"

typedef struct {
  private_key_t public;
  EVP_PKEY *key;
  refcount_t ref;
} sm2_private_key_t;

METHOD(private_key_t, get_type, key_type_t, sm2_private_key_t *this) { return KEY_SM2; }

METHOD(private_key_t, sign, bool, sm2_private_key_t *this, signature_scheme_t scheme, void *params, chunk_t data,
       chunk_t *signature) {
  EVP_MD_CTX *context;
  bool done = FALSE;

  if (scheme != SIGN_SM2_WITH_SM3) {
    DBG1(DBG_LIB, "signature scheme %N not supported by SM2 key", signature_scheme_names, scheme);
    return FALSE;
  }
  context = sm2_context(this->key, TRUE);
  if (!context) {
    return FALSE;
  }
  *signature = chunk_alloc(EVP_PKEY_get_size(this->key));
  done = EVP_DigestSign(context, signature->ptr, &signature->len, data.ptr, data.len) == 1;
  sm2_context_free(context);
  if (!done) {
    chunk_free(signature);
  }
  return done;
}

METHOD(private_key_t, decrypt, bool, sm2_private_key_t *this, encryption_scheme_t scheme, void *params,
       chunk_t encrypted, chunk_t *plain) {
  DBG1(DBG_LIB, "decryption with an SM2 key is not supported");
  return FALSE;
}

METHOD(private_key_t, get_keysize, int, sm2_private_key_t *this) { return SM2_KEY_SIZE; }

METHOD(private_key_t, get_public_key, public_key_t *, sm2_private_key_t *this) {
  return sm2_public_key_create(this->key);
}

METHOD(private_key_t, get_fingerprint, bool, sm2_private_key_t *this, cred_encoding_type_t type, chunk_t *fingerprint) {
  return sm2_fingerprint(this->key, type, fingerprint);
}

METHOD(private_key_t, get_encoding, bool, sm2_private_key_t *this, cred_encoding_type_t type, chunk_t *encoding) {
  PKCS8_PRIV_KEY_INFO *info;
  uint8_t *at = NULL;
  int len;

  // swanctl asks for it, to pass a key on to charon.
  if (type != PRIVKEY_ASN1_DER) {
    return FALSE;
  }
  info = EVP_PKEY2PKCS8(this->key);
  len = info ? i2d_PKCS8_PRIV_KEY_INFO(info, &at) : 0;
  PKCS8_PRIV_KEY_INFO_free(info);
  if (len <= 0) {
    return FALSE;
  }
  *encoding = chunk_clone(chunk_create(at, len));
  OPENSSL_clear_free(at, len);
  return TRUE;
}

METHOD(private_key_t, get_ref, private_key_t *, sm2_private_key_t *this) {
  ref_get(&this->ref);
  return &this->public;
}

METHOD(private_key_t, destroy, void, sm2_private_key_t *this) {
  if (ref_put(&this->ref)) {
    lib->encoding->clear_cache(lib->encoding, this->key);
    EVP_PKEY_free(this->key);
    free(this);
  }
}

private_key_t *sm2_private_key_load(key_type_t type, va_list args) {
  sm2_private_key_t *this;
  chunk_t blob = sm2_builder_blob(args);
  const uint8_t *at = blob.ptr;
  EVP_PKEY *key = blob.len ? sm2_only(d2i_AutoPrivateKey(NULL, &at, blob.len)) : NULL;

  if (!key) {
    return NULL;
  }
  INIT(this,
       .public =
           {
               .get_type = _get_type,
               .sign = _sign,
               .decrypt = _decrypt,
               .get_keysize = _get_keysize,
               .get_public_key = _get_public_key,
               .equals = private_key_equals,
               .belongs_to = private_key_belongs_to,
               .get_fingerprint = _get_fingerprint,
               .has_fingerprint = private_key_has_fingerprint,
               .get_encoding = _get_encoding,
               .get_ref = _get_ref,
               .destroy = _destroy,
           },
       .key = key, .ref = 1, );
  return &this->public;
}
