// SPDX-License-Identifier: Apache-2.0
#include "chip/axi_master.h"

namespace sallyport::sim {

void AxiMaster::start(std::vector<RegisterRequest> requests) {
  requests_ = std::move(requests);
  responses_.clear();
  addressTaken_ = dataTaken_ = false;
}

void AxiMaster::drive(AxiInputs& in) const {
  const bool write = busy() && current().write, read = busy() && !current().write;
  in.awValid = write && !addressTaken_;
  in.wValid = write && !dataTaken_;
  in.bReady = write;
  in.arValid = read && !addressTaken_;
  in.rReady = read;
  if (!busy()) return;
  in.address = current().address;
  in.data = current().data;
}

void AxiMaster::sample(const AxiOutputs& out) {
  if (!busy()) return;
  if (current().write) {
    if (out.bValid && addressTaken_ && dataTaken_) return end({out.bResp, 0});
    addressTaken_ |= out.awReady;
    dataTaken_ |= out.wReady;
  } else {
    if (out.rValid && addressTaken_) return end({out.rResp, out.data});
    addressTaken_ |= out.arReady;
  }
}

void AxiMaster::end(const RegisterResponse& response) {
  responses_.push_back(response);
  addressTaken_ = dataTaken_ = false;
}

}  // namespace sallyport::sim
