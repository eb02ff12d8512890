// SPDX-License-Identifier: Apache-2.0
// A decrypting lane gets the end of the key schedule; the functions here compute the key from it.
#include "model/block_ciphers.h"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "model/bytes.h"

namespace sallyport::model {
namespace {

using Key = std::array<uint8_t, 32>;

struct CipherDeleter {
  void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
};
struct ContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

// A cipher with a cache of expanded keys. A hash of its bytes gives each key one place. A lane
// works on few SAs at a time, so expanding a key again costs less than a search in a table of
// all keys.
class BlockCipher {
 public:
  // Gives the cipher's key for the bytes that the lane gets as its key.
  using KeyOf = Key (*)(const Key&);

  BlockCipher(const char* name, int keyBytes, bool encrypt, KeyOf keyOf)
      : cipher_(EVP_CIPHER_fetch(nullptr, name, nullptr)), keyBytes_(keyBytes), encrypt_(encrypt), keyOf_(keyOf) {
    if (!cipher_) throw std::runtime_error(std::string("libcrypto has no ") + name + ": install one that has");
  }

  void run(const uint8_t* key, const uint8_t* in, size_t blocks, uint8_t* out) {
    Key wanted{};
    std::memcpy(wanted.data(), key, keyBytes_);
    Place& place = places_[(load64(wanted.data()) * 0x9e3779b97f4a7c15ull) >> 56];
    if (!place.context || place.key != wanted)
      expand(place, wanted);
    else if (EVP_CIPHER_get_iv_length(cipher_.get()) > 0)
      start(place, nullptr);
    int length = 0;
    const auto bytes = static_cast<int>(16 * blocks);
    if (EVP_CipherUpdate(place.context.get(), out, &length, in, bytes) != 1 || length != bytes)
      throw std::runtime_error("libcrypto refuses a block");
  }

 private:
  struct Place {
    Key key{};
    std::unique_ptr<EVP_CIPHER_CTX, ContextDeleter> context;
  };

  void expand(Place& place, const Key& wanted) {
    const Key key = keyOf_ ? keyOf_(wanted) : wanted;
    if (!place.context) place.context.reset(EVP_CIPHER_CTX_new());
    start(place, key.data());
    place.key = wanted;
  }

  // From an IV of zeros, where there is one.
  void start(Place& place, const uint8_t* key) {
    static constexpr uint8_t kZeros[16]{};
    if (!place.context ||
        EVP_CipherInit_ex2(place.context.get(), key ? cipher_.get() : nullptr, key, kZeros, encrypt_, nullptr) != 1 ||
        EVP_CIPHER_CTX_set_padding(place.context.get(), 0) != 1)
      throw std::runtime_error("libcrypto refuses a key");
  }

  std::unique_ptr<EVP_CIPHER, CipherDeleter> cipher_;
  size_t keyBytes_;
  bool encrypt_;
  KeyOf keyOf_;
  std::array<Place, 256> places_;
};

// The S-boxes, which libcrypto does not show: of AES by its definition (FIPS-197 5.1.1), of SM4
// read off a round of the cipher itself.
struct Sboxes {
  std::array<uint8_t, 256> aes{}, sm4{};

  Sboxes() {
    // 3 generates the field: p goes through its elements, q through their inverses.
    uint8_t p = 1, q = 1;
    do {
      p = static_cast<uint8_t>(p ^ (p << 1) ^ (p & 0x80 ? 0x1b : 0));
      q = static_cast<uint8_t>(q ^ (q << 1));
      q = static_cast<uint8_t>(q ^ (q << 2));
      q = static_cast<uint8_t>(q ^ (q << 4));
      if (q & 0x80) q ^= 0x09;
      auto rotated = [q](int by) { return static_cast<uint8_t>(q << by | q >> (8 - by)); };
      aes[p] = static_cast<uint8_t>(q ^ rotated(1) ^ rotated(2) ^ rotated(3) ^ rotated(4) ^ 0x63);
    } while (p != 1);
    aes[0] = 0x63;
    // GB/T 32907-2016 6.2 a): inversion modulo x^8 + x^7 + x^6 + x^5 + x^4 + x^2 + 1 between two
    // times the same affine map.
    auto affine = [](uint8_t x) {
      uint8_t y = 0;
      for (int i = 0; i < 8; i++) {
        const auto row = static_cast<uint8_t>(0xa7 << i | 0xa7 >> (8 - i));
        y = static_cast<uint8_t>(y | __builtin_parity(row & x) << i);
      }
      return static_cast<uint8_t>(y ^ 0xd3);
    };
    auto times = [](uint8_t a, uint8_t b) {
      unsigned product = 0;
      for (int i = 0; i < 8; i++)
        if (b >> i & 1) product ^= static_cast<unsigned>(a) << i;
      for (int i = 14; i >= 8; i--)
        if (product >> i & 1) product ^= 0x1f5u << (i - 8);
      return static_cast<uint8_t>(product);
    };
    for (int x = 0; x < 256; x++) {
      const uint8_t in = affine(static_cast<uint8_t>(x));
      uint8_t inverse = 1;
      for (int i = 0; i < 254; i++) inverse = times(inverse, in);
      sm4[x] = affine(inverse);
    }
  }
};

const Sboxes& sboxes() {
  static const Sboxes boxes;
  return boxes;
}

uint32_t substitute(const std::array<uint8_t, 256>& box, uint32_t word) {
  return box[word & 255] | box[word >> 8 & 255] << 8 | box[word >> 16 & 255] << 16 |
         static_cast<uint32_t>(box[word >> 24]) << 24;
}

// Of FIPS-197 5.2, backwards: the first words of the key schedule from the last, `words` being
// those of the key. Byte 0 of a word is its lowest.
Key aesKey(const Key& last, int words) {
  const int all = 4 * (words + 7);
  std::array<uint32_t, 60> w{};
  for (int i = 0; i < words; i++) w[all - words + i] = load32(&last[4 * i]);
  std::array<uint32_t, 11> rcon{0, 1};
  for (int i = 2; i < 11; i++) rcon[i] = rcon[i - 1] << 1 ^ (rcon[i - 1] & 0x80 ? 0x11b : 0);
  for (int i = all - 1; i >= words; i--) {
    uint32_t before = w[i - 1];
    if (i % words == 0)
      before = substitute(sboxes().aes, before >> 8 | before << 24) ^ rcon[i / words];
    else if (words == 8 && i % words == 4)
      before = substitute(sboxes().aes, before);
    w[i - words] = w[i] ^ before;
  }
  Key key{};
  for (int i = 0; i < words; i++) store32(&key[4 * i], w[i]);
  return key;
}

Key aes128Key(const Key& last) { return aesKey(last, 4); }
Key aes256Key(const Key& last) { return aesKey(last, 8); }

// GB/T 32907-2016 7.3, backwards from K39, K38, K37, K36.
Key sm4Key(const Key& last) {
  static constexpr uint32_t kFk[] = {0xa3b1bac6, 0x56aa3350, 0x677d9197, 0xb27022dc};
  std::array<uint32_t, 40> k{};
  for (int i = 0; i < 4; i++) k[39 - i] = loadBig32(&last[4 * i]);
  for (int i = 35; i >= 0; i--) {
    uint32_t ck = 0;
    for (int j = 0; j < 4; j++) ck = ck << 8 | static_cast<uint32_t>((4 * i + j) * 7 & 255);
    const uint32_t b = substitute(sboxes().sm4, k[i + 1] ^ k[i + 2] ^ k[i + 3] ^ ck);
    k[i] = k[i + 4] ^ b ^ rotateLeft(b, 13) ^ rotateLeft(b, 23);
  }
  Key key{};
  for (int i = 0; i < 4; i++) storeBig32(&key[4 * i], k[i] ^ kFk[i]);
  return key;
}

}  // namespace

void encryptBlocks(const Suite& suite, const uint8_t* key, const uint8_t* in, size_t blocks, uint8_t* out) {
  thread_local BlockCipher sm4("SM4-ECB", 16, true, nullptr);
  thread_local std::array<BlockCipher, 3> aes{BlockCipher("AES-128-ECB", 16, true, nullptr),
                                              BlockCipher("AES-192-ECB", 24, true, nullptr),
                                              BlockCipher("AES-256-ECB", 32, true, nullptr)};
  (suite.cipher == Cipher::kSm4 ? sm4 : aes[suite.keyBytes / 8 - 2]).run(key, in, blocks, out);
}

void decryptBlocks(const Suite& suite, const uint8_t* lastWords, const uint8_t* in, size_t blocks, uint8_t* out) {
  thread_local BlockCipher sm4("SM4-ECB", 16, false, sm4Key);
  thread_local BlockCipher shorter("AES-128-ECB", 16, false, aes128Key);
  thread_local BlockCipher longer("AES-256-ECB", 32, false, aes256Key);
  BlockCipher& aes = suite.keyBytes == 16 ? shorter : longer;
  (suite.cipher == Cipher::kSm4 ? sm4 : aes).run(lastWords, in, blocks, out);
}

void encryptChained(const Suite& suite, const uint8_t* key, const uint8_t* in, size_t blocks, uint8_t* out) {
  thread_local BlockCipher sm4("SM4-CBC", 16, true, nullptr);
  thread_local BlockCipher shorter("AES-128-CBC", 16, true, nullptr);
  thread_local BlockCipher longer("AES-256-CBC", 32, true, nullptr);
  BlockCipher& aes = suite.keyBytes == 16 ? shorter : longer;
  (suite.cipher == Cipher::kSm4 ? sm4 : aes).run(key, in, blocks, out);
}

}  // namespace sallyport::model
