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
bool mayLeave(Entry entry, Exit exit, bool linkToCpu, bool linkToLink) {
  if (entry == Entry::link && exit == Exit::punt) return linkToCpu;
  if (entry == Entry::link && exit == Exit::link) return linkToLink;
  return (entry == Entry::mac) == (exit != Exit::mac);
}

}  // namespace

Bytes InterfaceJudge::give(Entry entry, size_t length) {
  given_.push_back({entry, static_cast<uint16_t>(length), false, false, {}, std::vector<bool>((length + 7) / 8)});
  return numbered(last(), length);
}

void InterfaceJudge::begin(bool steady) {
  // None of the last round may leave any more.
  for (; first_ < given_.size(); first_++) given_[first_].left = {};
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

// Notes the words from a place on, which must not have left before.
void InterfaceJudge::leaves(Given& given, Place from, size_t length,
                            const std::function<void(const char*)>& wrong) const {
  for (size_t word = from.word; word < from.word + (length + 7) / 8; word++) {
    if (given.left[word]) wrong("a packet, or a part of it, that has left before");
    given.left[word] = true;
  }
}

std::optional<InterfaceJudge::Left> InterfaceJudge::left(Exit exit, const Bytes& bytes, bool bypass) {
  size_t at = 0, length = 0;
  std::optional<Place> first, place;
  const auto wrong = [&](const char* what) {
    throw std::runtime_error("WRONG PACKET: " + std::string(what) + " leaves to " + name(exit) + " (" +
                             std::to_string(bytes.size()) + " bytes, from byte " + std::to_string(at) + " on " +
                             std::to_string(length) + ")");
  };
  const auto wholeRun = [&] {
    const bool zeros = std::all_of(bytes.begin() + static_cast<long>(at + length), bytes.end(),
                                   [](uint8_t byte) { return byte == 0; });
    return zeros || size_t{8} * place->word + length == given_[place->packet].length;
  };
  // A payload may be taken for headers, which the chip changes: then it is in several runs.
  for (;; at += length) {
    place = find(bytes, at);
    if (!place) break;
    if (!first) first = place;
    if (place->packet != first->packet) wrong("a packet with a part of another");
    length = run(bytes, at, *place);
    if (at + length >= kHeaders || wholeRun()) break;
  }
  if (!first) {
    without++;
    return {};
  }
  const uint32_t packet = first->packet;
  Given& given = given_[packet];
  if (packet < first_) wrong("a packet of an earlier round");
  if (given.broken) wrong("a damaged frame");
  if (!mayLeave(given.entry, exit, linkToCpu || given.bypassed, linkToLink)) wrong("a packet that came in elsewhere");
  // Between tunnels, packets came protected and leave protected.
  if (given.entry == Entry::link && exit == Exit::link && (bypass || !given.number))
    wrong("a packet between tunnels without protection");
  if (!place) return Left{packet, false};
  if (!wholeRun()) wrong("a packet with bytes that are not its own");
  if (size_t behind = at + length; find(bytes, behind)) wrong("a packet with a part of another, or of itself");
  leaves(given, *place, length, wrong);
  const bool isWhole = length == given.length;
  (isWhole ? whole : parts)++;
  if (steady_ && exit != Exit::punt && given.number) {
    const auto [known, fresh] = accepted_.emplace(*given.number, packet);
    if (!fresh && known->second != packet) wrong("a replay");
  }
  return Left{packet, isWhole};
}

}  // namespace sallyport::fuzz
