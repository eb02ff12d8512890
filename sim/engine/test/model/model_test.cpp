// SPDX-License-Identifier: Apache-2.0
// Compares the packets of a lane's model with libcrypto's AEADs, ciphers and MACs on random input,
// and tests GHASH with powers of no H. LaneModelSpec compares the model's time with the hardware's.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <random>
#include <vector>

#include "model/block_ciphers.h"
#include "model/bytes.h"
#include "model/esp_transform.h"
#include "model/ghash.h"
#include "model/hashes.h"
#include "model/lane.h"

namespace sallyport::model {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes part(const Bytes& bytes, size_t from, size_t length) {
  return {bytes.begin() + static_cast<long>(from), bytes.begin() + static_cast<long>(from + length)};
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

// Ciphertext and tag.
Bytes aead(const char* name, const Bytes& key, const Bytes& nonce, const Bytes& aad, const Bytes& text) {
  EVP_CIPHER* made = EVP_CIPHER_fetch(nullptr, name, nullptr);
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  Bytes out(text.size() + 16);
  int length = 0;
  EXPECT_EQ(EVP_EncryptInit_ex2(context, made, key.data(), nonce.data(), nullptr), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context, nullptr, &length, aad.data(), static_cast<int>(aad.size())), 1);
  if (!text.empty())
    EXPECT_EQ(EVP_EncryptUpdate(context, out.data(), &length, text.data(), static_cast<int>(text.size())), 1);
  EXPECT_EQ(EVP_EncryptFinal_ex(context, out.data(), &length), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &out[text.size()]), 1);
  EVP_CIPHER_CTX_free(context);
  EVP_CIPHER_free(made);
  return out;
}

Bytes mac(const char* digest, const Bytes& key, const Bytes& message) {
  Bytes out(64);
  size_t length = 0;
  EXPECT_NE(EVP_Q_mac(nullptr, "HMAC", nullptr, digest, nullptr, key.data(), key.size(), message.data(), message.size(),
                      out.data(), out.size(), &length),
            nullptr);
  out.resize(length);
  return out;
}

class ModelledPacket : public testing::Test {
 protected:
  Bytes random(size_t length) {
    Bytes bytes(length);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(dice_());
    return bytes;
  }

  Job job(uint8_t suite) {
    Job made{};
    made.suite = suite;
    made.icv = static_cast<uint8_t>(dice_() % 3);
    made.esn = dice_() % 2;
    made.nextHeader = 41;
    fill(made.key);
    fill(made.salt);
    made.sequence = static_cast<uint64_t>(dice_()) << 32 | dice_();
    made.iv = static_cast<uint64_t>(dice_()) << 32 | dice_();
    made.spi = dice_();
    return made;
  }

  template <size_t N>
  void fill(std::array<uint8_t, N>& bytes) {
    for (auto& byte : bytes) byte = static_cast<uint8_t>(dice_());
  }

  std::mt19937 dice_{1};
};

Bytes keyOf(const Job& job) { return {job.key.begin(), job.key.begin() + job.of().keyBytes}; }

Bytes number(uint64_t value, int bytes) {
  Bytes out;
  for (int i = bytes - 1; i >= 0; i--) out.push_back(static_cast<uint8_t>(value >> 8 * i));
  return out;
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}

Bytes textFor(const Job& job, const Bytes& payload) {
  Bytes text = payload;
  uint8_t pad = 0;
  while ((text.size() + 2) % job.of().padTo != 0) text.push_back(++pad);
  text.push_back(pad);
  text.push_back(job.nextHeader);
  return text;
}

Bytes header(const Job& job) { return joined({number(job.spi, 4), number(job.sequence & 0xffffffff, 4)}); }
Bytes aadOf(const Job& job) { return joined({number(job.spi, 4), number(job.sequence, 8)}); }
Bytes aadFor(const Job& job) { return job.esn ? aadOf(job) : header(job); }
Bytes nonceOf(const Job& job) { return joined({Bytes(job.salt.begin(), job.salt.end()), number(job.iv, 8)}); }

// H, H^2, H^3, H^4 as a key row has them: GHASH gives a power of H if one block is 1 and the others
// are 0.
void putPowers(Job& job, const Bytes& h) {
  std::copy(h.begin(), h.end(), job.auth.begin());
  for (size_t power = 2; power <= 4; power++) {
    // With the first power alone: (H^(n-1)) as one block times H.
    Ghash times(job.auth.data());
    times.update(&job.auth[16 * (power - 2)], 16);
    const auto made = times.sum();
    std::copy(made.begin(), made.end(), &job.auth[16 * (power - 1)]);
  }
}

TEST_F(ModelledPacket, Aead) {
  struct Kind {
    uint8_t suite;
    const char *name, *block;
  };
  for (const Kind& kind : {Kind{1, "AES-128-GCM", "AES-128-ECB"}, Kind{14, "AES-192-GCM", "AES-192-ECB"},
                           Kind{2, "AES-256-GCM", "AES-256-ECB"}, Kind{9, "AES-256-GCM", "AES-256-ECB"},
                           Kind{10, "ChaCha20-Poly1305", nullptr}})
    for (size_t length = 1; length < 400; length++) {
      Job made = job(kind.suite);
      if (kind.block) putPowers(made, cipher(kind.block, keyOf(made), {}, Bytes(16)));
      const Bytes payload = random(length), text = textFor(made, payload), iv = number(made.iv, 8);
      const bool gmac = made.of().auth == Auth::kGmac;
      const Bytes expected =
          gmac ? joined({text, aead(kind.name, keyOf(made), nonceOf(made), joined({aadFor(made), iv, text}), {})})
               : aead(kind.name, keyOf(made), nonceOf(made), aadFor(made), text);
      Bytes packet, opened;
      seal(made, payload, packet);
      ASSERT_EQ(packet, joined({header(made), iv, expected})) << kind.name << " of " << length << " bytes";
      ASSERT_TRUE(isLength(made, packet.size()));
      ASSERT_EQ(open(made, packet, opened).verdict, Verdict::kOk);
      ASSERT_EQ(opened, payload);
      packet[dice_() % packet.size()] ^= static_cast<uint8_t>(1 << dice_() % 8);
      ASSERT_EQ(open(made, packet, opened).verdict, Verdict::kBadIcv);
    }
}

// A key as rows have it: the states behind the key with the inner and the outer pad (RFC 2104).
void putStates(Job& job, Auth hash, const std::vector<uint32_t>& start, const Bytes& key) {
  for (size_t i = 0; i < 2; i++) {
    Digest state{};
    for (size_t k = 0; k < start.size(); k++) storeBig32(&state[4 * k], start[k]);
    Bytes block(64, i == 0 ? 0x36 : 0x5c);
    for (size_t k = 0; k < key.size(); k++) block[k] ^= key[k];
    compress(hash, state, block.data());
    std::copy(state.begin(), state.end(), &job.auth[32 * i]);
  }
}

TEST_F(ModelledPacket, CipherAndHmac) {
  const std::vector<uint32_t> sha256{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      sha1{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
      sm3{0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e};
  struct Kind {
    uint8_t suite;
    const char *name, *block, *digest;
    const std::vector<uint32_t>& start;
  };
  const Kind kinds[] = {{3, "AES-128-CTR", nullptr, "SHA256", sha256},
                        {4, "AES-256-CTR", nullptr, "SHA256", sha256},
                        {5, "AES-128-CBC", "AES-128-ECB", "SHA256", sha256},
                        {6, "AES-256-CBC", "AES-256-ECB", "SHA256", sha256},
                        {7, "AES-256-CBC", "AES-256-ECB", "SHA1", sha1},
                        {8, nullptr, nullptr, "SHA256", sha256},
                        {12, "SM4-CBC", "SM4-ECB", "SM3", sm3},
                        {13, "SM4-CTR", nullptr, "SM3", sm3}};
  for (const Kind& kind : kinds)
    for (size_t length = 1; length < 300; length++) {
      Job made = job(kind.suite);
      const Bytes authKey = random(32), payload = random(length), text = textFor(made, payload),
                  iv = number(made.iv, 8);
      putStates(made, made.of().auth, kind.start, authKey);
      Bytes covered = header(made);
      if (kind.block) {
        const Bytes own = cipher(kind.block, keyOf(made), {}, joined({iv, Bytes(8)}));
        covered = joined({covered, own, cipher(kind.name, keyOf(made), own, text)});
      } else if (kind.name) {
        covered = joined({covered, iv, cipher(kind.name, keyOf(made), joined({nonceOf(made), number(1, 4)}), text)});
      } else {
        covered = joined({covered, text});
      }
      const Bytes high = made.esn ? number(made.sequence >> 32, 4) : Bytes();
      const Bytes tag = mac(kind.digest, authKey, joined({covered, high}));
      Bytes packet, opened;
      seal(made, payload, packet);
      ASSERT_EQ(packet, joined({covered, part(tag, 0, made.of().icvBytes(made.icv))})) << length << " bytes";
      if (kind.block) continue;  // what opens CBC has another key
      ASSERT_EQ(open(made, packet, opened).verdict, Verdict::kOk);
      ASSERT_EQ(opened, payload);
    }
}

// FIPS-197 appendix A.1 and A.3: key and the last words of its schedule.
TEST_F(ModelledPacket, AesDecryptionTakesTheEndOfTheKeySchedule) {
  struct Known {
    uint8_t suite;
    std::array<uint8_t, 32> key, last;
  };
  const Known known[] = {
      {5,
       {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c},
       {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89, 0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6}},
      {6,
       {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
        0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4},
       {0xca, 0xfa, 0xaa, 0xe3, 0xe4, 0xd5, 0x9b, 0x34, 0x9a, 0xdf, 0x6a, 0xce, 0xbd, 0x10, 0x19, 0x0d,
        0xfe, 0x48, 0x90, 0xd1, 0xe6, 0x18, 0x8d, 0x0b, 0x04, 0x6d, 0xf3, 0x44, 0x70, 0x6c, 0x63, 0x1e}}};
  for (const Known& k : known) {
    const Bytes key(k.key.begin(), k.key.begin() + kSuites[k.suite].keyBytes), plain = random(160);
    const Bytes secret = cipher(key.size() == 16 ? "AES-128-ECB" : "AES-256-ECB", key, {}, plain);
    Bytes out(plain.size());
    decryptBlocks(kSuites[k.suite], k.last.data(), secret.data(), out.size() / 16, out.data());
    ASSERT_EQ(out, plain);
  }
}

// The verdicts of RFC 4303 2.4 and 2.6 on authentic packets.
TEST_F(ModelledPacket, Padding) {
  Job made = job(8);
  auto verdictOf = [&](const Bytes& text) {
    const Bytes covered = joined({header(made), text, made.esn ? number(made.sequence >> 32, 4) : Bytes()});
    const Digest tag = hmac(Auth::kSha256, made.auth.data(), covered.data(), covered.size());
    Bytes opened;
    return open(made, joined({header(made), text, Bytes(tag.begin(), tag.begin() + 16)}), opened).verdict;
  };
  EXPECT_EQ(verdictOf({7, 1, 1, 4}), Verdict::kOk);
  EXPECT_EQ(verdictOf({7, 2, 1, 4}), Verdict::kBadPadding);
  EXPECT_EQ(verdictOf({1, 2, 2, 4}), Verdict::kDummy);
  EXPECT_EQ(verdictOf({7, 7, 0, 59}), Verdict::kDummy);
  EXPECT_EQ(verdictOf({1, 2, 3, 4}), Verdict::kTruncated);
}

// Packets go in as there is room and out when they are finished; the lane falls asleep behind them.
TEST_F(ModelledPacket, LaneGivesEachPacketOnce) {
  Lane lane({true, {112, 16}, {3584, 512}});
  std::vector<Bytes> expected[2], received[2];
  int sent = 0;
  size_t at = 0;
  Bytes payload, packet;
  Job made{};
  // The sender knows the lane's room, slots and beats, and when a slow packet began. The first slot
  // is known a few cycles after the reset.
  uint32_t slots[2] = {112, 16}, beats[2] = {3584, 512}, finished[2] = {}, granted = 0;
  int slowBegan = 0;
  std::vector<size_t> order;
  for (int cycle = 0; sent < 300 || lane.awake(); cycle++) {
    ASSERT_LT(cycle, 200000);
    if (payload.empty() && sent < 300) {
      made = job(static_cast<uint8_t>(1 + dice_() % 14));
      payload = random(1 + dice_() % 700);
      seal(made, payload, packet);
      at = 0;
    }
    const bool fast = made.of().fast();
    const bool room = slots[fast] > 0 && beats[fast] > 152 && (fast || cycle > slowBegan + 2);
    if (!payload.empty() && lane.ready() && (at > 0 || room)) {
      if (at == 0) {
        expected[fast].push_back(packet);
        lane.begin(made);
        slots[fast]--;
        beats[fast] -= static_cast<uint32_t>(payload.size() + 63) / 64 + 1;
        if (!fast) slowBegan = cycle;
      }
      std::array<uint8_t, 64> beat{};
      const size_t here = std::min<size_t>(64, payload.size() - at);
      std::copy_n(payload.begin() + static_cast<long>(at), here, beat.begin());
      at += here;
      lane.beat(beat.data(), static_cast<uint32_t>(here), at == payload.size(), false);
      if (at == payload.size()) {
        payload.clear();
        sent++;
      }
    }
    uint32_t grant = 0;
    for (size_t i = 0; i < 2; i++)
      if (!grant && finished[i] > 0 && granted < 16) {
        grant = 1u << i;
        order.push_back(i);
        finished[i]--;
        granted++;
      }
    if (lane.valid()) {
      const OutBeat& out = lane.out();
      static Bytes coming;
      coming.insert(coming.end(), out.data.begin(), out.data.begin() + out.bytes);
      if (out.last) {
        ASSERT_EQ(out.verdict, Verdict::kOk);
        ASSERT_EQ(out.length, coming.size());
        received[order[received[0].size() + received[1].size()]].push_back(coming);
        coming.clear();
        granted--;
      }
    }
    lane.tick(grant, dice_() % 4 == 0, false);
    for (size_t i = 0; i < 2; i++) finished[i] += lane.done(i);
    if (lane.released().valid) {
      const bool ofFast = lane.released().fast;
      beats[ofFast] += lane.released().beats;
      slots[ofFast] += ofFast;
    }
    slots[0] += lane.retired();
  }
  EXPECT_EQ(received[0], expected[0]);
  EXPECT_EQ(received[1], expected[1]);
}

}  // namespace
}  // namespace sallyport::model
