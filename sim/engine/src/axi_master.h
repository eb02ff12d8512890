// An AXI4-Lite manager (AMBA IHI 0022), one transaction at a time.
#pragma once

#include "chip.h"

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
  bool busy() const { return state_ != State::kIdle; }
  // Only while not busy.
  void start(const RegisterRequest& request);
  // Before settle(): this cycle's inputs of the chip.
  void drive(AxiInputs& in) const;
  // After settle(): what the chip took and gave. In the cycle that ends the transaction busy() falls and response()
  // holds its end.
  void sample(const AxiOutputs& out);
  const RegisterResponse& response() const { return response_; }

 private:
  enum class State { kIdle, kWrite, kRead };
  State state_ = State::kIdle;
  RegisterRequest request_;
  RegisterResponse response_;
  bool addressTaken_ = false, dataTaken_ = false;
};

}  // namespace sallyport::sim
