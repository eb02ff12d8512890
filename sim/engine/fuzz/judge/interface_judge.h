// SPDX-License-Identifier: Apache-2.0
// Judges what leaves an interface chip by what went in.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz/judge/numbered.h"

namespace sallyport::fuzz {

enum class Entry : uint8_t { mac, link, inject };
enum class Exit : uint8_t { mac, link, punt };

// left() throws std::runtime_error on bytes that must not leave.
class InterfaceJudge {
 public:
  // All packets of the link may leave to the CPU, as the inner chip's do, not only those in BYPASS.
  bool linkToCpu = false;
  // A row leads packets of the link back to it.
  bool linkToLink = false;

  // A payload that is about to go in; its bytes.
  Bytes give(Entry entry, size_t length);
  uint32_t last() const { return static_cast<uint32_t>(given_.size()) - 1; }
  // The chip must drop it: its frame is damaged, too short or too long.
  void mustNotLeave(uint32_t packet) { given_[packet].broken = true; }
  // Of a packet from the link in BYPASS.
  void bypassed(uint32_t packet) { given_[packet].bypassed = true; }
  // Of one that is not.
  void numberedBy(uint32_t packet, unsigned sa, uint64_t sequence) { given_[packet].number = {sa, sequence}; }

  struct Left {
    uint32_t packet;
    bool whole;
  };
  // A frame or packet leaves, by the link in BYPASS or not; the packet that it holds, if it holds
  // as much as a word of one.
  std::optional<Left> left(Exit exit, const Bytes& bytes, bool bypass);

  // A new round: nothing of the last is under way. `steady`: no anti-replay window starts anew.
  void begin(bool steady);
  int64_t whole = 0, parts = 0, without = 0;

 private:
  struct Given {
    Entry entry;
    uint16_t length;
    bool broken = false, bypassed = false;
    std::optional<std::pair<unsigned, uint64_t>> number;
    // The words that have left.
    std::vector<bool> left;
  };
  std::optional<Place> find(const Bytes& bytes, size_t& at) const;
  size_t run(const Bytes& bytes, size_t at, Place place) const;
  void leaves(Given& given, Place from, size_t length, const std::function<void(const char*)>& wrong) const;

  std::vector<Given> given_;
  size_t first_ = 0;
  bool steady_ = false;
  std::map<std::pair<unsigned, uint64_t>, uint32_t> accepted_;
};

}  // namespace sallyport::fuzz
