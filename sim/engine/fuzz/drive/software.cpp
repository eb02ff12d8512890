// SPDX-License-Identifier: Apache-2.0
#include "fuzz/drive/software.h"

#include <stdexcept>

namespace sallyport::fuzz {

void Software::drive(sim::AxiInputs& in) {
  if (!running_ && !waiting_.empty()) {
    master_.start(std::move(waiting_.front().requests));
    then_ = std::move(waiting_.front().then);
    waiting_.pop_front();
    running_ = true;
    answered_ = 0;
    since_ = 0;
  }
  master_.drive(in);
}

void Software::sample(const sim::AxiOutputs& out) {
  if (!running_) return;
  master_.sample(out);
  since_++;
  if (master_.responses().size() != answered_) {
    answered_ = master_.responses().size();
    since_ = 0;
    transactions_++;
  }
  if (since_ > kMostCycles) throw std::runtime_error("HANG: the chip answers no register access");
  if (master_.busy()) return;
  running_ = false;
  // The callee may ask for more.
  const Then then = std::move(then_);
  if (then) then(master_.responses());
}

}  // namespace sallyport::fuzz
