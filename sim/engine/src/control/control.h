// SPDX-License-Identifier: Apache-2.0
// The control protocol of docs/reference/simulator-protocol.md: one JSON object a line in, one or
// more JSON lines out.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fields.h"
#include "control/branch.h"
#include "control/line_input.h"
#include "control/software.h"
#include "live/tap.h"
#include "tester/trial.h"
#include "world/run_meter.h"
#include "world/world.h"

namespace sallyport::sim {

class Control {
 public:
  // Opens the device of this name for a live run, or throws with a sentence.
  using OpenDevice = std::function<std::unique_ptr<FrameDevice>(const std::string& name)>;

  // `software` may be null (no sockets).
  Control(World& world, Software* software, uint64_t seed, int input, FILE* output, OpenDevice openDevice = openTap);

  // Says "ready" and serves commands and registers until quit or the end of input. A process that
  // "branch" made does not return from it: it ends.
  void run();

 private:
  using Command = nlohmann::json (Control::*)(Fields&);

  void serve();
  void execute(const std::string& line);
  void say(const nlohmann::json& message);
  // Waits for input or for a client of the registers, while software gets and gives frames. False
  // at the end of the input.
  bool waitForInput();
  // Software's turn inside a trial, until a line says when the next turn is. Only register requests
  // let simulated time pass.
  NextTurn softwareTurn(const std::function<void()>& epoch);
  // Runs `body` with the register sockets served as the command's "registers" field says: "defer"
  // or "live".
  template <class Body>
  nlohmann::json metered(const std::string& registers, Body body);

  nlohmann::json trial(Fields& fields);
  nlohmann::json replay(Fields& fields);
  nlohmann::json live(Fields& fields);
  // How often the sender has said "stop" in this live run; with `sleep` after waiting for input or
  // a descriptor.
  int stops(const std::vector<int>& descriptors, bool sleep);
  nlohmann::json idle(Fields& fields);
  nlohmann::json capture(Fields& fields);
  nlohmann::json fault(Fields& fields);
  nlohmann::json tamper(Fields& fields);
  nlohmann::json noise(Fields& fields);
  nlohmann::json status(Fields& fields);
  nlohmann::json memories(Fields& fields);
  nlohmann::json quit(Fields& fields);
  nlohmann::json branch(Fields& fields);
  nlohmann::json join(Fields& fields);

  World& world_;
  Software* software_;
  uint64_t seed_;
  LineInput input_;
  FILE* output_;
  OpenDevice openDevice_;
  bool quit_ = false;
  int stops_ = 0;
  Branch branch_;
  nlohmann::json id_;
};

}  // namespace sallyport::sim
