// SPDX-License-Identifier: Apache-2.0
#include "control/control.h"

#include "base/chip_fault.h"
#include "chip/chip_factory.h"
#include "control/captures.h"
#include "control/faults.h"
#include "control/requests.h"
#include "control/status.h"

namespace sallyport::sim {

using nlohmann::json;

Control::Control(World& world, Software* software, uint64_t seed, int input, FILE* output, OpenDevice openDevice)
    : world_(world),
      software_(software),
      seed_(seed),
      input_(input),
      output_(output),
      openDevice_(std::move(openDevice)) {
  for (int box = 0; box < world_.boxes(); box++)
    world_.node(box, ChipKind::kCrypto).noise().seed(seed, static_cast<uint64_t>(box));
}

void Control::say(const json& message) {
  const std::string text = message.dump();
  fwrite(text.data(), 1, text.size(), output_);
  fputc('\n', output_);
  fflush(output_);
}

void Control::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    if (!branch_.inside()) throw;
    fprintf(stderr, "sallyport-sim: %s\n", error.what());
    branch_.fail();
  }
  closeCaptures(world_);
  if (branch_.inside()) branch_.end();
}

void Control::serve() {
  json ports = json::array(), links = json::array(), cables = json::array();
  for (const auto& port : world_.testerPorts()) ports.push_back(port.text());
  for (const auto& link : world_.links()) links.push_back(link.name);
  for (const auto& cable : world_.cables()) cables.push_back(cable.name);
  json ready = {{"event", "ready"},
                {"chips", chipImplementation()},
                {"boxes", world_.boxes()},
                {"core_mhz", coreClock.mhz()},
                {"threads", world_.threads()},
                {"cycle", world_.now()},
                {"tester_ports", ports},
                {"links", links},
                {"cables", cables}};
  if (world_.cluster()) ready["nodes"] = world_.boxes() / 2;
  say(ready);
  auto serveRegisters = [this] {
    while (software_ && software_->registers().serveStill()) {
    }
  };
  while (!quit_) {
    const bool open = waitForInput();
    // Registers first: what a client asked for before the next command was written is done
    // before it.
    serveRegisters();
    if (!open) break;
    for (std::string line; !quit_ && input_.next(line); serveRegisters()) execute(line);
  }
}

bool Control::waitForInput() {
  if (software_) software_->frames().serve();
  return input_.wait(software_ ? software_->descriptors() : std::vector<pollfd>(), -1);
}

void Control::execute(const std::string& line) {
  static const std::map<std::string, Command> commands = {
      {"trial", &Control::trial},       {"replay", &Control::replay},   {"live", &Control::live},
      {"idle", &Control::idle},         {"capture", &Control::capture}, {"fault", &Control::fault},
      {"tamper", &Control::tamper},     {"noise", &Control::noise},     {"status", &Control::status},
      {"memories", &Control::memories}, {"quit", &Control::quit},       {"branch", &Control::branch},
      {"join", &Control::join}};
  std::string name;
  id_ = nullptr;
  try {
    const json request = json::parse(line);
    Fields fields(request, "the command");
    if (fields.has("id")) id_ = fields.at("id");
    name = fields.need<std::string>("cmd");
    const auto command = commands.find(name);
    if (command == commands.end()) throw std::invalid_argument("there is no command \"" + name + "\"");
    json result = (this->*command->second)(fields);
    if (result.is_null()) return;  // its branch has answered
    result["event"] = "result";
    // What a branch makes of itself when it ends is the answer to "join".
    result.emplace("cmd", name);
    result.emplace("id", id_);
    say(result);
  } catch (const BranchFailed&) {
    throw;  // it has said why
  } catch (const std::exception& error) {
    say({{"event", "error"}, {"cmd", name}, {"id", id_}, {"message", error.what()}});
    // A ChipFault is no bad request: the world itself is not to be trusted any more.
    if (dynamic_cast<const ChipFault*>(&error)) throw;
  }
}

template <class Body>
json Control::metered(const std::string& registers, Body body) {
  if (registers != "defer" && registers != "live")
    throw std::invalid_argument("\"registers\" must be defer or live, not " + registers);
  if (registers == "live" && software_) world_.setBetweenEpochs([this] { software_->registers().serveLive(); });
  RunMeter meter(world_, [this](const char* phase, double done, double cyclesPerSecond) {
    say({{"event", "progress"},
         {"id", id_},
         {"phase", phase},
         {"done", done},
         {"cycle", world_.now()},
         {"cycles_per_s", cyclesPerSecond}});
    return !input_.ended();
  });
  json result;
  try {
    result = body(meter);
  } catch (...) {
    world_.setBetweenEpochs({});
    throw;
  }
  world_.setBetweenEpochs({});
  result["simulation"] = meter.json();
  result["simulation"]["implementation"] = chipImplementation();
  result["cycle"] = world_.now();
  return result;
}

json Control::trial(Fields& fields) {
  const TrialSpec spec = parseTrial(fields, seed_);
  const auto registers = fields.get<std::string>("registers", "defer");
  fields.end();
  if (spec.firstTurn != kNoTurn && registers != "defer")
    throw std::invalid_argument(
        "\"software_after_us\" is for \"registers\": \"defer\": outside its turns software waits");
  return metered(registers, [&](RunMeter& meter) {
    json result = runTrial(world_, spec, meter, [this](const auto& epoch) { return softwareTurn(epoch); });
    if (world_.cluster()) result["switches"] = switchesOf(*world_.cluster());
    return result;
  });
}

NextTurn Control::softwareTurn(const std::function<void()>& epoch) {
  say({{"event", "turn"}, {"id", id_}, {"cycle", world_.now()}});
  for (std::string line;;) {
    while (software_ && software_->registers().serveInStep(epoch)) {
    }
    if (!input_.next(line)) {
      if (!waitForInput()) throw Cancelled();
      continue;
    }
    try {
      const json request = json::parse(line);
      Fields fields(request, "the command");
      const auto name = fields.need<std::string>("cmd");
      if (name == "reset") {
        const auto box = static_cast<int>(fields.whole("box", 0, 0, world_.boxes() - 1));
        fields.end();
        world_.resetBox(box, epoch);
        say({{"event", "result"}, {"cmd", name}, {"id", id_}, {"cycle", world_.now()}});
        continue;
      }
      if (name != "continue")
        throw std::invalid_argument("the trial waits for \"continue\" or \"reset\", not \"" + name + "\"");
      const NextTurn next = parseContinue(fields);
      fields.end();
      return next;
    } catch (const std::exception& error) {
      say({{"event", "error"}, {"cmd", "continue"}, {"id", id_}, {"message", error.what()}});
    }
  }
}

json Control::replay(Fields& fields) {
  const ReplaySpec spec = parseReplay(fields);
  const auto registers = fields.get<std::string>("registers", "defer");
  fields.end();
  return metered(registers, [&](RunMeter& meter) { return runReplay(world_, spec, meter); });
}

json Control::live(Fields& fields) {
  if (world_.cluster()) throw std::invalid_argument("a cluster has no live runs: start without --nodes");
  LiveSpec spec = parseLive(fields, openDevice_);
  fields.end();
  stops_ = 0;
  const LiveHooks hooks{[this](const json& taps) {
                          if (software_) software_->beginLive();
                          say({{"event", "live"}, {"id", id_}, {"cycle", world_.now()}, {"taps", taps}});
                        },
                        [this](const std::vector<int>& descriptors, bool sleep) { return stops(descriptors, sleep); },
                        [this] { return software_ ? software_->serveLive() : LiveSoftware(); }};
  return metered("defer", [&](RunMeter& meter) { return runLive(world_, std::move(spec), hooks, meter); });
}

int Control::stops(const std::vector<int>& descriptors, bool sleep) {
  auto waits = software_ ? software_->descriptors() : std::vector<pollfd>();
  for (const int descriptor : descriptors) waits.push_back({descriptor, POLLIN, 0});
  const bool ended = !input_.wait(waits, sleep ? -1 : 0);
  for (std::string line; input_.next(line);) try {
      const json request = json::parse(line);
      Fields fields(request, "the command");
      const auto name = fields.need<std::string>("cmd");
      if (name != "stop" && stops_) {
        input_.putBack(line);  // for when the run has ended
        break;
      }
      if (name != "stop") throw std::invalid_argument("a live run takes \"stop\" alone, not \"" + name + "\"");
      fields.end();
      stops_++;
    } catch (const std::exception& error) {
      say({{"event", "error"}, {"cmd", "stop"}, {"id", id_}, {"message", error.what()}});
    }
  // The end of the input ends the run at once.
  if (ended) stops_ += 2;
  return stops_;
}

json Control::idle(Fields& fields) {
  const Cycle cycles = fields.whole("cycles", 1000, 1, INT64_MAX / coreClock.ticksPerCycle / 4);
  const auto registers = fields.get<std::string>("registers", "defer");
  fields.end();
  return metered(registers, [&](RunMeter& meter) {
    const Cycle end = world_.now() + cycles;
    while (world_.now() < end) {
      world_.runEpoch();
      meter.report("idle", 1 - static_cast<double>(end - world_.now()) / static_cast<double>(cycles));
    }
    return json::object();
  });
}

json Control::capture(Fields& fields) {
  setCapture(world_, fields);
  return json::object();
}

json Control::fault(Fields& fields) {
  setFault(world_, fields, seed_);
  return json::object();
}

json Control::tamper(Fields& fields) {
  const auto box = static_cast<int>(fields.whole("box", 0, 0, world_.boxes() - 1));
  const bool on = fields.get<bool>("on", true);
  fields.end();
  world_.node(box, ChipKind::kCrypto).setTamper(on);
  return json::object();
}

json Control::noise(Fields& fields) {
  const auto box = static_cast<int>(fields.whole("box", 0, 0, world_.boxes() - 1));
  NoiseChip& chip = world_.node(box, ChipKind::kCrypto).noise();
  chip.stick(fields.has("stuck") ? std::optional(fields.need<bool>("stuck")) : std::nullopt);
  fields.end();
  return json::object();
}

json Control::status(Fields& fields) {
  fields.end();
  json result = statusOf(world_);
  if (software_) result["frames"] = software_->frames().status();
  return result;
}

json Control::memories(Fields& fields) {
  const auto name = fields.get<std::string>("name", "");
  fields.end();
  return name.empty() ? memoriesOf(world_) : usedRowsOf(world_, name);
}

json Control::quit(Fields& fields) {
  fields.end();
  closeCaptures(world_);
  quit_ = true;
  return json::object();
}

json Control::branch(Fields& fields) {
  fields.end();
  if (branch_.inside()) throw std::invalid_argument("a branch has no branches: \"join\" ends the one there is");
  if (capturing(world_))
    throw std::invalid_argument("a capture is on, whose file \"branch\" would make two write: close it first");
  world_.restThreads();
  const auto joined = branch_.take();
  if (branch_.inside()) {
    if (software_) software_->leaveClients();
    return json::object();
  }
  if (!joined) {
    quit_ = true;
    return nullptr;
  }
  input_.setUnread(joined->unread);
  return {{"cmd", "join"}, {"id", joined->id}};
}

json Control::join(Fields& fields) {
  fields.end();
  if (!branch_.inside()) throw std::invalid_argument("there is no branch to join: \"branch\" begins one");
  closeCaptures(world_);
  branch_.join({id_, input_.unread()});
}

}  // namespace sallyport::sim
