// SPDX-License-Identifier: Apache-2.0
// Finds secrets in what a chip lets out, at any byte of any word.
#pragma once

#include <bitset>
#include <string>
#include <unordered_set>

#include "base/beat.h"
#include "fuzz/link/frame.h"

namespace sallyport::fuzz {

// Six bytes that chance does not make; each 8 bytes of a marked text begin with them.
using Mark = uint64_t;
inline constexpr uint64_t kMarkMask = 0xffff'ffff'ffff;
inline constexpr Mark kRedMark = 0xd3a9'61f0'7e25, kForgedMark = 0x94c7'5b1e'e836, kKeyMark = 0x6a3d'f289'0b5c;

void mark(Bytes& bytes, Mark with, size_t from = 0);

class Watch {
 public:
  void mustNotSee(Mark what, const std::string& name) { marks_.emplace_back(what, name); }
  // Secrets without a mark: every 8 bytes that begin at a byte divisible by 8.
  void mustNotSee(const Bytes& secret);

  // Throws std::runtime_error that names the secret. `where` tells streams apart, 0 to 2.
  void look(int where, const uint8_t* bytes, size_t length);
  void look(int where, const sim::Word& word) {
    look(where, reinterpret_cast<const uint8_t*>(word.unit.data()), sizeof word.unit);
  }

 private:
  std::vector<std::pair<Mark, std::string>> marks_;
  std::unordered_set<uint64_t> secrets_;
  std::bitset<65536> begins_;
  // The last 7 bytes of each stream.
  std::array<std::array<uint8_t, 7>, 3> before_{};
};

}  // namespace sallyport::fuzz
