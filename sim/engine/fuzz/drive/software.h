// SPDX-License-Identifier: Apache-2.0
// The management CPU: one transaction after the other. The chip must answer each.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "chip/axi_master.h"
#include "chip/chip.h"

namespace sallyport::fuzz {

class Software {
 public:
  using Answers = std::vector<sim::RegisterResponse>;
  using Then = std::function<void(const Answers&)>;
  // No transaction may take longer.
  static constexpr int kMostCycles = 2000;

  void ask(std::vector<sim::RegisterRequest> requests, Then then = {}) {
    waiting_.push_back({std::move(requests), std::move(then)});
  }
  // Before all that waits.
  void askNext(std::vector<sim::RegisterRequest> requests, Then then) {
    waiting_.push_front({std::move(requests), std::move(then)});
  }
  bool idle() const { return waiting_.empty() && !master_.busy(); }
  // Around the chip's settle().
  void drive(sim::AxiInputs& in);
  void sample(const sim::AxiOutputs& out);
  int64_t transactions() const { return transactions_; }

 private:
  struct Batch {
    std::vector<sim::RegisterRequest> requests;
    Then then;
  };
  sim::AxiMaster master_;
  std::deque<Batch> waiting_;
  Then then_;
  size_t answered_ = 0;
  int since_ = 0;
  bool running_ = false;
  int64_t transactions_ = 0;
};

}  // namespace sallyport::fuzz
