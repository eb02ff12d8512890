// SPDX-License-Identifier: GPL-2.0-or-later
#include "sm4_gcm.h"

#include <crypto/iv/iv_gen_seq.h>
#include <openssl/evp.h>
#include <openssl/modes.h>

#define KEY_SIZE 16
#define SALT_SIZE 4
#define IV_SIZE 8
#define ICV_SIZE 16
#define BLOCK_SIZE 16

typedef struct {
  aead_t public;
  iv_gen_t *iv_gen;
  EVP_CIPHER_CTX *sm4;
  GCM128_CONTEXT *gcm;
  uint8_t nonce[SALT_SIZE + IV_SIZE];
  bool failed;
} sm4_gcm_t;

// What GCM calls for each block. It cannot return an error, so that is kept.
static void encrypt_block(const uint8_t in[BLOCK_SIZE], uint8_t out[BLOCK_SIZE], const void *key) {
  sm4_gcm_t *this = (sm4_gcm_t *)key;
  int len;

  if (EVP_EncryptUpdate(this->sm4, out, &len, in, BLOCK_SIZE) != 1 || len != BLOCK_SIZE) {
    this->failed = TRUE;
  }
}

static bool start(sm4_gcm_t *this, chunk_t assoc, chunk_t iv) {
  if (!this->gcm || iv.len != IV_SIZE) {
    return FALSE;
  }
  memcpy(this->nonce + SALT_SIZE, iv.ptr, IV_SIZE);
  CRYPTO_gcm128_setiv(this->gcm, this->nonce, sizeof(this->nonce));
  return CRYPTO_gcm128_aad(this->gcm, assoc.ptr, assoc.len) == 0;
}

METHOD(aead_t, encrypt, bool, sm4_gcm_t *this, chunk_t plain, chunk_t assoc, chunk_t iv, chunk_t *encrypted) {
  uint8_t *out = plain.ptr;

  if (encrypted) {
    *encrypted = chunk_alloc(plain.len + ICV_SIZE);
    out = encrypted->ptr;
  }
  if (start(this, assoc, iv) && CRYPTO_gcm128_encrypt(this->gcm, plain.ptr, out, plain.len) == 0 && !this->failed) {
    CRYPTO_gcm128_tag(this->gcm, out + plain.len, ICV_SIZE);
    if (!this->failed) {
      return TRUE;
    }
  }
  // What did not become a ciphertext may hold a part of the text, and its caller does not free it.
  if (encrypted) {
    chunk_clear(encrypted);
  }
  return FALSE;
}

METHOD(aead_t, decrypt, bool, sm4_gcm_t *this, chunk_t encrypted, chunk_t assoc, chunk_t iv, chunk_t *plain) {
  uint8_t *out = encrypted.ptr;
  size_t len;

  if (encrypted.len < ICV_SIZE) {
    return FALSE;
  }
  len = encrypted.len - ICV_SIZE;
  if (plain) {
    *plain = chunk_alloc(len);
    out = plain->ptr;
  }
  if (start(this, assoc, iv) && CRYPTO_gcm128_decrypt(this->gcm, encrypted.ptr, out, len) == 0 &&
      CRYPTO_gcm128_finish(this->gcm, encrypted.ptr + len, ICV_SIZE) == 0 && !this->failed) {
    return TRUE;
  }
  // No caller may read text that is not authentic.
  memwipe(out, len);
  if (plain) {
    chunk_free(plain);
  }
  return FALSE;
}

METHOD(aead_t, get_block_size, size_t, sm4_gcm_t *this) { return 1; }

METHOD(aead_t, get_icv_size, size_t, sm4_gcm_t *this) { return ICV_SIZE; }

METHOD(aead_t, get_iv_size, size_t, sm4_gcm_t *this) { return IV_SIZE; }

METHOD(aead_t, get_iv_gen, iv_gen_t *, sm4_gcm_t *this) { return this->iv_gen; }

METHOD(aead_t, get_key_size, size_t, sm4_gcm_t *this) { return KEY_SIZE + SALT_SIZE; }

METHOD(aead_t, set_key, bool, sm4_gcm_t *this, chunk_t key) {
  if (key.len != KEY_SIZE + SALT_SIZE || EVP_EncryptInit_ex(this->sm4, EVP_sm4_ecb(), NULL, key.ptr, NULL) != 1 ||
      EVP_CIPHER_CTX_set_padding(this->sm4, 0) != 1) {
    return FALSE;
  }
  memcpy(this->nonce, key.ptr + KEY_SIZE, SALT_SIZE);
  this->failed = FALSE;
  CRYPTO_gcm128_release(this->gcm);
  this->gcm = CRYPTO_gcm128_new(this, encrypt_block);
  return this->gcm && !this->failed;
}

METHOD(aead_t, destroy, void, sm4_gcm_t *this) {
  CRYPTO_gcm128_release(this->gcm);
  EVP_CIPHER_CTX_free(this->sm4);
  this->iv_gen->destroy(this->iv_gen);
  memwipe(this->nonce, sizeof(this->nonce));
  free(this);
}

aead_t *sm4_gcm_create(encryption_algorithm_t algorithm, size_t key_size, size_t salt_size) {
  sm4_gcm_t *this;
  EVP_CIPHER_CTX *sm4;

  if (algorithm != ENCR_SM4_GCM_ICV16 || (key_size && key_size != KEY_SIZE) || (salt_size && salt_size != SALT_SIZE)) {
    return NULL;
  }
  sm4 = EVP_CIPHER_CTX_new();
  if (!sm4) {
    return NULL;
  }
  INIT(this,
       .public =
           {
               .encrypt = _encrypt,
               .decrypt = _decrypt,
               .get_block_size = _get_block_size,
               .get_icv_size = _get_icv_size,
               .get_iv_size = _get_iv_size,
               .get_iv_gen = _get_iv_gen,
               .get_key_size = _get_key_size,
               .set_key = _set_key,
               .destroy = _destroy,
           },
       .iv_gen = iv_gen_seq_create(), .sm4 = sm4, );
  return &this->public;
}
