// SPDX-License-Identifier: Apache-2.0
#include "model/chacha_poly.h"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace sallyport::model {
namespace {

struct ContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

// The input before the tag.
EVP_CIPHER_CTX* run(bool encrypt, const uint8_t* key, const uint8_t* nonce, const uint8_t* aad, size_t aadBytes,
                    const uint8_t* in, size_t length, uint8_t* out) {
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, ContextDeleter> context(EVP_CIPHER_CTX_new());
  int done = 0;
  if (!context || EVP_CipherInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, key, nonce, encrypt) != 1 ||
      EVP_CipherUpdate(context.get(), nullptr, &done, aad, static_cast<int>(aadBytes)) != 1 ||
      EVP_CipherUpdate(context.get(), out, &done, in, static_cast<int>(length)) != 1)
    throw std::runtime_error("libcrypto refuses ChaCha20-Poly1305");
  return context.get();
}

}  // namespace

std::array<uint8_t, 16> sealChaChaPoly(const uint8_t* key, const uint8_t* nonce, const uint8_t* aad, size_t aadBytes,
                                       const uint8_t* in, size_t length, uint8_t* out) {
  EVP_CIPHER_CTX* context = run(true, key, nonce, aad, aadBytes, in, length, out);
  std::array<uint8_t, 16> tag;
  int done = 0;
  if (EVP_CipherFinal_ex(context, out, &done) != 1 ||
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag.data()) != 1)
    throw std::runtime_error("libcrypto gives no tag");
  return tag;
}

bool openChaChaPoly(const uint8_t* key, const uint8_t* nonce, const uint8_t* aad, size_t aadBytes, const uint8_t* in,
                    size_t length, const uint8_t* tag, uint8_t* out) {
  EVP_CIPHER_CTX* context = run(false, key, nonce, aad, aadBytes, in, length, out);
  int done = 0;
  if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, const_cast<uint8_t*>(tag)) != 1)
    throw std::runtime_error("libcrypto takes no tag");
  return EVP_CipherFinal_ex(context, out, &done) == 1;
}

}  // namespace sallyport::model
