// SPDX-License-Identifier: Apache-2.0
// Queues and delays of a lane's model: what the lane keeps in registers and moves on, these leave
// where it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sallyport::model {

// A FIFO that can never be full; `N` is a power of two. Call pop before push in each cycle: then it
// behaves as RingQueue.scala, where an entry can be taken one cycle after it came.
template <class T, size_t N>
class Fifo {
 public:
  bool empty() const { return read_ == write_; }
  size_t size() const { return write_ - read_; }
  const T& front() const { return at_[read_ % N]; }
  void push(const T& entry) { at_[write_++ % N] = entry; }
  T pop() { return at_[read_++ % N]; }
  void clear() { read_ = write_ = 0; }

 private:
  std::array<T, N> at_{};
  uint32_t read_ = 0, write_ = 0;
};

// Slots that are due in one of the next N - 1 cycles, one a cycle; `N` is a power of two.
template <size_t N>
class Line {
 public:
  static constexpr int16_t kNone = -1;

  Line() { clear(); }
  void put(uint32_t cycle, int16_t slot) { at_[cycle % N] = slot; }
  // Of this cycle; it is asked once.
  int16_t take(uint32_t cycle) {
    const int16_t slot = at_[cycle % N];
    at_[cycle % N] = kNone;
    return slot;
  }
  void clear() { at_.fill(kNone); }

 private:
  std::array<int16_t, N> at_;
};

}  // namespace sallyport::model
