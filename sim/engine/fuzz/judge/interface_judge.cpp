// SPDX-License-Identifier: Apache-2.0
#include "fuzz/judge/interface_judge.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace sallyport::fuzz {
namespace {

const char* name(Exit exit) {
  static constexpr const char* names[] = {"the port", "the link", "the CPU"};
  return names[static_cast<int>(exit)];
}

// Ethernet header, two VLAN tags and the longest IPv4 header.
constexpr size_t kHeaders = 14 + 8 + 60;

// Frames go from the port to the link and to the CPU, packets from link and CPU to the port.
bool mayLeave(Entry entry, Exit exit) { return (entry == Entry::mac) == (exit != Exit::mac); }

}  // namespace

Bytes InterfaceJudge::give(Entry entry, size_t length) {
  given_.push_back({entry, static_cast<uint16_t>(length), false, {}, 0});
  return numbered(last(), length);
}

void InterfaceJudge::begin(bool steady) {
  first_ = given_.size();
  steady_ = steady;
  accepted_.clear();
}

// The first place of a packet in `bytes` from `at` on, which moves there.
std::optional<Place> InterfaceJudge::find(const Bytes& bytes, size_t& at) const {
  for (; at + 8 <= bytes.size(); at++)
    if (const auto place = placeAt(&bytes[at]); place && place->packet < given_.size()) return place;
  return {};
}

// How many bytes from `at` on are the packet's from a place on.
size_t InterfaceJudge::run(const Bytes& bytes, size_t at, Place place) const {
  const size_t offset = size_t{8} * place.word, end = given_[place.packet].length;
  size_t length = 0;
  while (at + length < bytes.size() && offset + length < end) {
    const uint64_t expected = numberedWord({place.packet, static_cast<unsigned>((offset + length) / 8)});
    const size_t part = std::min({size_t{8}, bytes.size() - at - length, end - offset - length});
    if (std::memcmp(&expected, &bytes[at + length], part) != 0) break;
    length += part;
  }
  return length;
}

std::optional<uint32_t> InterfaceJudge::left(Exit exit, const Bytes& bytes) {
  size_t at = 0, length = 0;
  std::optional<Place> place;
  const auto wholeRun = [&] {
    const bool zeros = std::all_of(bytes.begin() + static_cast<long>(at + length), bytes.end(),
                                   [](uint8_t byte) { return byte == 0; });
    return zeros || size_t{8} * place->word + length == given_[place->packet].length;
  };
  // A payload may be taken for headers, which the chip changes.
  for (;; at += length) {
    place = find(bytes, at);
    if (!place) return {};
    length = run(bytes, at, *place);
    if (at + length >= kHeaders || wholeRun()) break;
  }
  const uint32_t packet = place->packet;
  Given& given = given_[packet];
  const auto wrong = [&](const std::string& what) {
    throw std::runtime_error("WRONG PACKET: " + what + " leaves to " + name(exit) + " (" +
                             std::to_string(bytes.size()) + " bytes, from byte " + std::to_string(at) + " on " +
                             std::to_string(length) + ")");
  };
  if (packet < first_) wrong("a packet of an earlier round");
  if (given.broken) wrong("a damaged frame");
  if (!mayLeave(given.entry, exit)) wrong("a packet that came in elsewhere");
  if (!wholeRun()) wrong("a packet with bytes that are not its own");
  if (size_t behind = at + length; find(bytes, behind)) wrong("a packet with a part of another, or of itself");
  if ((given.left += length) > given.length) wrong("a packet, or a part of it, that has left before");
  (length == given.length ? whole : parts)++;
  if (steady_ && exit == Exit::mac && given.number) {
    const auto [known, fresh] = accepted_.emplace(*given.number, packet);
    if (!fresh && known->second != packet) wrong("a replay of number " + std::to_string(given.number->second));
  }
  return packet;
}

}  // namespace sallyport::fuzz
