// SPDX-License-Identifier: Apache-2.0
// The one source of chance: splitmix64, the same on every machine.
#pragma once

#include <cstdint>

namespace sallyport::sim {

inline uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Random {
 public:
  Random(uint64_t seed, uint64_t sequence) : state_(mix64(seed + 0x9E3779B97F4A7C15u) ^ mix64(~sequence)) {}

  uint64_t next() { return mix64(state_ += 0x9E3779B97F4A7C15u); }
  // Uniform in 0 .. bound-1.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  bool chance(double probability) {
    return probability > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  uint64_t state_;
};

}  // namespace sallyport::sim
