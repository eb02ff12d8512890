// SPDX-License-Identifier: Apache-2.0
// A token channel: a chip takes in one epoch the words that another sent in the epoch before.
//
// There is one writer, one reader and no lock. In epoch e the writer fills one buffer, and the
// reader empties the buffer of epoch e-1. The scheduler's barrier between epochs orders the two.
// (FireSim's tokens; conservative lookahead.)
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
