// SPDX-License-Identifier: Apache-2.0
// An AXI4-Lite manager (AMBA IHI 0022), one transaction at a time.
#pragma once

#include <vector>

#include "chip/chip.h"

namespace sallyport::sim {

struct RegisterRequest {
  bool write = false;
  uint16_t address = 0;
  uint32_t data = 0;
};

struct RegisterResponse {
  uint32_t status = 0;
  uint32_t data = 0;
};

class AxiMaster {
 public:
  bool busy() const { return responses_.size() < requests_.size(); }
  // Only while not busy: transactions that follow each other, each from the cycle behind the end of
  // the one before.
  void start(std::vector<RegisterRequest> requests);
  // Before settle(): this cycle's inputs of the chip.
  void drive(AxiInputs& in) const;
  // After settle(): what the chip took and gave. In the cycle that ends the last transaction
  // busy() falls.
  void sample(const AxiOutputs& out);
  // How the transactions of the last start() ended, in their order, as far as they have.
  const std::vector<RegisterResponse>& responses() const { return responses_; }

 private:
  const RegisterRequest& current() const { return requests_[responses_.size()]; }
  void end(const RegisterResponse& response);

  std::vector<RegisterRequest> requests_;
  std::vector<RegisterResponse> responses_;
  bool addressTaken_ = false, dataTaken_ = false;
};

}  // namespace sallyport::sim
