// SPDX-License-Identifier: Apache-2.0
#include "fuzz/judge/watch.h"

#include <cstring>
#include <stdexcept>

namespace sallyport::fuzz {

void mark(Bytes& bytes, Mark with, size_t from) {
  for (size_t i = from; i + 6 <= bytes.size(); i += 8) std::memcpy(&bytes[i], &with, 6);
}

void Watch::mustNotSee(const Bytes& secret) {
  for (size_t i = 0; i + 8 <= secret.size(); i += 8) {
    uint64_t part;
    std::memcpy(&part, &secret[i], 8);
    if (part == 0) continue;
    secrets_.insert(part);
    begins_.set(part & 0xffff);
  }
}

void Watch::look(int where, const uint8_t* bytes, size_t length) {
  uint8_t all[7 + 64];
  auto& before = before_[static_cast<size_t>(where)];
  std::memcpy(all, before.data(), 7);
  std::memcpy(all + 7, bytes, length);
  std::memcpy(before.data(), all + length, 7);
  for (size_t i = 0; i < length; i++) {
    uint64_t part;
    std::memcpy(&part, all + i, 8);
    for (const auto& [what, name] : marks_)
      if ((part & kMarkMask) == what || part >> 16 == what)
        throw std::runtime_error("LEAK: " + name + " leaves the chip");
    if (begins_[part & 0xffff] && secrets_.count(part)) throw std::runtime_error("LEAK: a power of H leaves the chip");
  }
}

}  // namespace sallyport::fuzz
