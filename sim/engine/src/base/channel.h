// SPDX-License-Identifier: Apache-2.0
// A token channel: what one chip sends in an epoch, another may take in the next one.
//
// One writer, one reader, no lock: in epoch e the writer fills one buffer while the reader empties the one filled in
// epoch e-1; the scheduler's barrier between epochs orders the two. (FireSim's tokens; conservative lookahead.)
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sallyport::sim {

template <class Token>
class Channel {
 public:
  void put(int64_t epoch, Token token) { buffer_[epoch & 1].push_back(std::move(token)); }

  // Hands every token of the epoch before this one to `sink`, in order.
  template <class Sink>
  void take(int64_t epoch, Sink sink) {
    auto& tokens = buffer_[(epoch & 1) ^ 1];
    for (auto& token : tokens) sink(std::move(token));
    tokens.clear();
  }

  // Between epochs only.
  bool empty() const { return buffer_[0].empty() && buffer_[1].empty(); }

 private:
  std::array<std::vector<Token>, 2> buffer_;
};

}  // namespace sallyport::sim
