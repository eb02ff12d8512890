#include "axi_master.h"

namespace sallyport::sim {

void AxiMaster::start(const RegisterRequest& request) {
  request_ = request;
  state_ = request.write ? State::kWrite : State::kRead;
  addressTaken_ = dataTaken_ = false;
}

void AxiMaster::drive(AxiInputs& in) const {
  in.awValid = state_ == State::kWrite && !addressTaken_;
  in.wValid = state_ == State::kWrite && !dataTaken_;
  in.bReady = state_ == State::kWrite;
  in.arValid = state_ == State::kRead && !addressTaken_;
  in.rReady = state_ == State::kRead;
  in.address = request_.address;
  in.data = request_.data;
}

void AxiMaster::sample(const AxiOutputs& out) {
  if (state_ == State::kWrite) {
    if (out.bValid && addressTaken_ && dataTaken_) {
      response_ = {out.bResp, 0};
      state_ = State::kIdle;
      return;
    }
    addressTaken_ |= out.awReady;
    dataTaken_ |= out.wReady;
  } else if (state_ == State::kRead) {
    if (out.rValid && addressTaken_) {
      response_ = {out.rResp, out.data};
      state_ = State::kIdle;
      return;
    }
    addressTaken_ |= out.arReady;
  }
}

}  // namespace sallyport::sim
