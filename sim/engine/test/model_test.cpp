// The models of the crypto chip's pipes, against libcrypto's ciphers, hashes and authenticators on random messages.
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <random>
#include <vector>

#include "../model/bytes.h"
#include "../model/pipes.h"

namespace sallyport::model {
namespace {

using Bytes = std::vector<uint8_t>;

class Model : public testing::Test {
 protected:
  Bytes random(size_t length) {
    Bytes bytes(length);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(dice_());
    return bytes;
  }
  std::mt19937 dice_{1};
};

template <size_t N>
std::array<uint32_t, N> words(const Bytes& bytes) {
  std::array<uint32_t, N> all{};
  std::memcpy(all.data(), bytes.data(), std::min(bytes.size(), sizeof all));
  return all;
}

template <size_t N>
Bytes bytesOf(const std::array<uint32_t, N>& all, size_t length) {
  Bytes bytes(length);
  std::memcpy(bytes.data(), all.data(), length);
  return bytes;
}

Bytes cipher(const char* name, const Bytes& key, const Bytes& iv, const Bytes& text) {
  EVP_CIPHER* made = EVP_CIPHER_fetch(nullptr, name, nullptr);
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  Bytes out(text.size());
  int length = 0;
  EXPECT_EQ(EVP_EncryptInit_ex2(context, made, key.data(), iv.empty() ? nullptr : iv.data(), nullptr), 1);
  EVP_CIPHER_CTX_set_padding(context, 0);
  EXPECT_EQ(EVP_EncryptUpdate(context, out.data(), &length, text.data(), static_cast<int>(text.size())), 1);
  EVP_CIPHER_CTX_free(context);
  EVP_CIPHER_free(made);
  return out;
}

TEST_F(Model, AesOfAllKeyLengths) {
  for (int i = 0; i < 3000; i++) {
    static const char* const kNames[] = {"AES-128-ECB", "AES-192-ECB", "AES-256-ECB"};
    const uint32_t size = dice_() % 3;
    const Bytes key = random(16 + 8 * size), block = random(16);
    std::array<uint32_t, 4> out;
    sallyport_AesPipe(words<4>(block).data(), words<8>(key).data(), &size, out.data());
    ASSERT_EQ(bytesOf(out, 16), cipher(kNames[size], key, {}, block));
  }
}

// FIPS-197 appendix A.1 and A.3: key and the last words of its schedule.
TEST_F(Model, AesDecryptionTakesTheEndOfTheKeySchedule) {
  struct Known {
    uint32_t size;
    std::array<uint8_t, 32> key, last;
  };
  const Known known[] = {
      {0,
       {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c},
       {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89, 0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6}},
      {2,
       {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
        0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4},
       {0xca, 0xfa, 0xaa, 0xe3, 0xe4, 0xd5, 0x9b, 0x34, 0x9a, 0xdf, 0x6a, 0xce, 0xbd, 0x10, 0x19, 0x0d,
        0xfe, 0x48, 0x90, 0xd1, 0xe6, 0x18, 0x8d, 0x0b, 0x04, 0x6d, 0xf3, 0x44, 0x70, 0x6c, 0x63, 0x1e}}};
  for (const Known& k : known) {
    const Bytes key(k.key.begin(), k.key.begin() + (k.size ? 32 : 16));
    for (int i = 0; i < 100; i++) {
      const Bytes plain = random(16);
      const Bytes secret = cipher(k.size ? "AES-256-ECB" : "AES-128-ECB", key, {}, plain);
      std::array<uint32_t, 4> out;
      sallyport_AesDecryptPipe(words<4>(secret).data(), words<8>(Bytes(k.last.begin(), k.last.end())).data(), &k.size,
                               out.data());
      ASSERT_EQ(bytesOf(out, 16), plain);
    }
  }
}

TEST_F(Model, Sm4) {
  for (int i = 0; i < 1000; i++) {
    const Bytes key = random(16), block = random(16);
    const uint32_t encrypt = 0;
    std::array<uint32_t, 4> out;
    sallyport_Sm4Pipe(words<4>(block).data(), words<4>(key).data(), &encrypt, out.data());
    ASSERT_EQ(bytesOf(out, 16), cipher("SM4-ECB", key, {}, block));
  }
}

TEST_F(Model, ChaCha20) {
  for (int i = 0; i < 1000; i++) {
    const Bytes key = random(32), iv = random(16);
    const auto start = words<4>(iv);
    std::array<uint32_t, 16> out;
    sallyport_ChaChaPipe(words<8>(key).data(), start.data() + 1, start.data(), out.data());
    ASSERT_EQ(bytesOf(out, 64), cipher("ChaCha20", key, iv, Bytes(64)));
  }
}

// A digest by compressions of whole blocks behind FIPS 180-4's padding, which SM3 has, too.
using Compress = void (*)(const uint32_t*, const uint32_t*, uint32_t*);
Bytes digest(Compress compress, const std::vector<uint32_t>& start, const Bytes& message) {
  Bytes padded = message;
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int i = 7; i >= 0; i--) padded.push_back(static_cast<uint8_t>(uint64_t{message.size()} * 8 >> 8 * i));
  std::array<uint32_t, 8> state{};
  for (size_t i = 0; i < start.size(); i++) state[i] = __builtin_bswap32(start[i]);
  for (size_t at = 0; at < padded.size(); at += 64) {
    std::array<uint32_t, 8> next;
    compress(
        state.data(),
        words<16>(Bytes(padded.begin() + static_cast<long>(at), padded.begin() + static_cast<long>(at) + 64)).data(),
        next.data());
    state = next;
  }
  return bytesOf(state, 4 * start.size());
}

TEST_F(Model, Hashes) {
  struct Hash {
    const char* name;
    Compress compress;
    std::vector<uint32_t> start;
  };
  const Hash hashes[] = {
      {"SHA1", sallyport_Sha1Pipe, {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}},
      {"SHA256",
       sallyport_Sha256Pipe,
       {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}},
      {"SM3",
       sallyport_Sm3Pipe,
       {0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e}}};
  for (const Hash& hash : hashes)
    for (size_t length = 0; length < 300; length++) {
      const Bytes message = random(length);
      Bytes expected(hash.start.size() * 4);
      ASSERT_EQ(EVP_Q_digest(nullptr, hash.name, nullptr, message.data(), message.size(), expected.data(), nullptr), 1);
      ASSERT_EQ(digest(hash.compress, hash.start, message), expected) << hash.name << " of " << length << " bytes";
    }
}

TEST_F(Model, Poly1305) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "POLY1305", nullptr);
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  for (int i = 0; i < 2000; i++) {
    const Bytes key = random(32);
    Bytes message = random(16 * (dice_() % 20));
    if (i % 4 == 0) std::fill(message.begin(), message.end(), 0xff);  // what reduces the most
    std::array<uint32_t, 9> state{};
    const Bytes r(key.begin(), key.begin() + 16), s(key.begin() + 16, key.end());
    std::array<uint32_t, 5> acc{};
    for (size_t at = 0; at < message.size() || at == 0; at += 64) {
      const size_t here = std::min<size_t>(64, message.size() - at);
      const auto blocks = static_cast<uint32_t>(here / 16);
      const Bytes data(message.begin() + static_cast<long>(at), message.begin() + static_cast<long>(at + here));
      sallyport_Poly1305Pipe(acc.data(), words<4>(r).data(), words<4>(s).data(), words<16>(data).data(), &blocks,
                             state.data());
      std::copy_n(&state[4], 5, acc.data());
    }
    Bytes expected(16);
    size_t length = 0;
    ASSERT_EQ(EVP_MAC_init(context, key.data(), key.size(), nullptr), 1);
    ASSERT_EQ(EVP_MAC_update(context, message.data(), message.size()), 1);
    ASSERT_EQ(EVP_MAC_final(context, expected.data(), &length, expected.size()), 1);
    ASSERT_EQ(bytesOf(state, 16), expected) << message.size() << " bytes";
  }
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
}

// GMAC of whole blocks is GHASH of them and of their length, and E(K, J0) on top.
TEST_F(Model, GhashMultiply) {
  auto reflected = [](const Bytes& block) {
    Bytes turned(16);
    for (size_t i = 0; i < 16; i++) turned[i] = __builtin_bitreverse8(block[i]);
    return turned;
  };
  for (int i = 0; i < 500; i++) {
    const Bytes key = random(16), iv = random(12), aad = random(16 * (1 + dice_() % 8));
    const Bytes h = reflected(cipher("AES-128-ECB", key, {}, Bytes(16)));
    Bytes lengths(16);
    storeBig32(&lengths[4], static_cast<uint32_t>(aad.size() * 8));
    std::array<uint32_t, 4> y{};
    for (size_t at = 0; at <= aad.size(); at += 16) {
      const Bytes block = reflected(
          at == aad.size() ? lengths
                           : Bytes(aad.begin() + static_cast<long>(at), aad.begin() + static_cast<long>(at) + 16));
      for (size_t k = 0; k < 4; k++) y[k] ^= words<4>(block)[k];
      const auto in = y;
      sallyport_GhashMultiply(in.data(), words<4>(h).data(), y.data());
    }
    Bytes j0 = iv;
    j0.insert(j0.end(), {0, 0, 0, 1});
    Bytes tag = reflected(bytesOf(y, 16));
    const Bytes mask = cipher("AES-128-ECB", key, {}, j0);
    for (size_t k = 0; k < 16; k++) tag[k] ^= mask[k];

    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    Bytes expected(16);
    int length = 0;
    ASSERT_EQ(EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, key.data(), iv.data()), 1);
    ASSERT_EQ(EVP_EncryptUpdate(context, nullptr, &length, aad.data(), static_cast<int>(aad.size())), 1);
    ASSERT_EQ(EVP_EncryptFinal_ex(context, expected.data(), &length), 1);
    ASSERT_EQ(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, expected.data()), 1);
    EVP_CIPHER_CTX_free(context);
    ASSERT_EQ(tag, expected);
  }
}

}  // namespace
}  // namespace sallyport::model
