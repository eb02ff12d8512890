// SPDX-License-Identifier: Apache-2.0
#include "fuzz/judge/crypto_judge.h"

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace sallyport::fuzz {
namespace {

uint64_t digest(std::initializer_list<uint64_t> fields, const uint8_t* bytes, size_t length) {
  uint64_t state = length;
  for (const uint64_t f : fields) state = sim::mix64(state ^ f) + 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < length; i++) state = (state ^ bytes[i]) * 0x100000001B3u;
  return sim::mix64(state);
}

[[noreturn]] void wrong(const std::string& what, const Header& header) {
  throw std::runtime_error("WRONG PACKET: " + what + " (SA " + std::to_string(header.sa) + ", " +
                           std::to_string(header.length) + " bytes)");
}

}  // namespace

size_t prefixOf(const Header& header) {
  if (!header.transport || header.bypass) return 0;
  return 14u + 4u * ((header.tos >> 4 & 3u) + (header.tos & 15u));
}

void CryptoJudge::outbound(unsigned sa, const Row& row) { rows_[sa & saMask_].push_back(row); }
void CryptoJudge::outboundNumber(unsigned sa, uint64_t number) {
  high_[sa & saMask_].push_back(static_cast<uint32_t>(number >> 32));
  high_[sa & saMask_].push_back(static_cast<uint32_t>(number >> 32) + 1);
}
void CryptoJudge::allowBypass(bool encrypt, bool decrypt) {
  bypassEncrypt_ |= encrypt;
  bypassDecrypt_ |= decrypt;
}

void CryptoJudge::forget() {
  bypassEncrypt_ = bypassDecrypt_ = false;
  redIn_.clear();
  blackBypass_.clear();
  sealed_.clear();
  // Every counter starts anew with its row.
  rows_.clear();
  high_.clear();
}

void CryptoJudge::redIn(const Packet& packet) {
  const Header& h = packet.header;
  redIn_.insert(
      digest({h.sa, h.bypass, h.transport, h.tos, h.df, h.nextHeader}, packet.payload.data(), packet.payload.size()));
}

void CryptoJudge::blackIn(const Packet& packet) {
  const Header& h = packet.header;
  if (!h.bypass) return;
  blackBypass_.insert(digest({h.sa, h.transport, h.tos, h.nextHeader}, packet.payload.data(), packet.payload.size()));
}

void CryptoJudge::sealed(unsigned sa, uint64_t sequence, uint8_t nextHeader, const Bytes& payload) {
  sealed_.insert(digest({sa, sequence, nextHeader}, payload.data(), payload.size()));
}

void CryptoJudge::blackOut(const Arrived& arrived) {
  const Header& h = arrived.header;
  const auto known = [&](uint8_t nextHeader, const Bytes& bytes) {
    return redIn_.count(digest({h.sa, h.bypass, h.transport, h.tos, h.df, nextHeader}, bytes.data(), bytes.size())) > 0;
  };
  if (h.moved || h.peerTag != 0) wrong("it tells moved or peerTag to black", h);
  if (h.bypass) {
    if (!bypassEncrypt_) wrong("it bypasses IPsec, which no register allows", h);
    if (!known(h.nextHeader, arrived.payload)) wrong("it bypasses IPsec, and none such came from red", h);
    bypassed++;
    return;
  }
  if (h.nextHeader != 0) wrong("it tells nextHeader to black", h);
  const size_t prefix = prefixOf(h);
  if (arrived.payload.size() <= prefix) wrong("it is shorter than its headers", h);
  const Bytes packet(arrived.payload.begin() + static_cast<long>(prefix), arrived.payload.end());
  const auto& rows = rows_[h.sa & saMask_];
  std::vector<uint32_t> high{0};
  high.insert(high.end(), high_[h.sa & saMask_].begin(), high_[h.sa & saMask_].end());
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    const auto opened = openWith(*row, packet, high);
    if (!opened) continue;
    if (h.transport != inTransport(*row)) wrong("its mode is not its SA's", h);
    Bytes whole(arrived.payload.begin(), arrived.payload.begin() + static_cast<long>(prefix));
    whole.insert(whole.end(), opened->payload.begin(), opened->payload.end());
    if (!known(opened->nextHeader, whole)) wrong("its ICV is good, but no such packet came from red", h);
    esp++;
    return;
  }
  wrong("no key of its SA made it", h);
}

void CryptoJudge::redOut(const Arrived& arrived) {
  const Header& h = arrived.header;
  if (h.bypass) {
    if (!bypassDecrypt_) wrong("it came in clear, which no register allows", h);
    if (!blackBypass_.count(
            digest({h.sa, h.transport, h.tos, h.nextHeader}, arrived.payload.data(), arrived.payload.size())))
      wrong("it came in clear, and none such came from black", h);
    bypassed++;
    return;
  }
  const size_t prefix = prefixOf(h);
  if (arrived.payload.size() <= prefix) wrong("it is shorter than its headers", h);
  if (!sealed_.count(digest({h.sa & saMask_, arrived.sequence, h.nextHeader}, &arrived.payload[prefix],
                            arrived.payload.size() - prefix)))
    wrong("no authentic ESP packet has this payload", h);
  verified++;
}

}  // namespace sallyport::fuzz
