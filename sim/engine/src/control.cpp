#include "control.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "chip_factory.h"
#include "requests.h"

namespace sallyport::sim {

using nlohmann::json;

Control::Control(World& world, RegisterServer* registers, uint64_t seed, int input, FILE* output, OpenDevice openDevice)
    : world_(world),
      registers_(registers),
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
  closeCaptures();
  if (branch_.inside()) branch_.end();
}

void Control::serve() {
  json ports = json::array(), links = json::array(), cables = json::array();
  for (const auto& port : world_.testerPorts()) ports.push_back(port.text());
  for (const auto& link : world_.links()) links.push_back(link.name);
  for (const auto& cable : world_.cables()) cables.push_back(cable.name);
  say({{"event", "ready"},
       {"chips", chipImplementation()},
       {"boxes", world_.boxes()},
       {"threads", world_.threads()},
       {"cycle", world_.now()},
       {"tester_ports", ports},
       {"links", links},
       {"cables", cables}});
  auto serveRegisters = [this] {
    while (registers_ && registers_->serveStill()) {
    }
  };
  while (!quit_) {
    const bool open = waitForInput();
    // Registers first: what a client asked for before the next command was written is done before it.
    serveRegisters();
    if (!open) break;
    for (std::string line; !quit_ && nextLine(line); serveRegisters()) execute(line);
  }
}

bool Control::waitForInput() {
  std::vector<pollfd> waits{{input_, POLLIN, 0}};
  if (registers_)
    for (const auto& descriptor : registers_->descriptors()) waits.push_back(descriptor);
  if (poll(waits.data(), waits.size(), -1) < 0) return errno == EINTR;
  return !(waits[0].revents & (POLLIN | POLLHUP)) || readInput();
}

bool Control::readInput() {
  char chunk[65536];
  const ssize_t got = read(input_, chunk, sizeof chunk);
  if (got > 0) buffer_.append(chunk, got);
  return got > 0 || (got < 0 && errno == EINTR);
}

bool Control::nextLine(std::string& line) {
  for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
    line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    if (line.find_first_not_of(" \t\r") != std::string::npos) return true;
  }
  return false;
}

bool Control::inputEnded() const {
  pollfd wait{input_, POLLIN, 0};
  return poll(&wait, 1, 0) > 0 && (wait.revents & (POLLHUP | POLLERR)) && !(wait.revents & POLLIN);
}

void Control::execute(const std::string& line) {
  static const std::map<std::string, Command> commands = {
      {"trial", &Control::trial},   {"replay", &Control::replay},   {"live", &Control::live},
      {"idle", &Control::idle},     {"capture", &Control::capture}, {"fault", &Control::fault},
      {"tamper", &Control::tamper}, {"noise", &Control::noise}, {"status", &Control::status},   {"quit", &Control::quit},
      {"branch", &Control::branch}, {"join", &Control::join}};
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
    // Not a request that makes no sense but a world that nobody should trust any more.
    if (dynamic_cast<const ChipFault*>(&error)) throw;
  }
}

template <class Body>
json Control::metered(const std::string& registers, Body body) {
  if (registers != "defer" && registers != "live")
    throw std::invalid_argument("\"registers\" must be defer or live, not " + registers);
  if (registers == "live" && registers_) world_.setBetweenEpochs([this] { registers_->serveLive(); });
  RunMeter meter(world_, [this](const char* phase, double done, double cyclesPerSecond) {
    say({{"event", "progress"},
         {"id", id_},
         {"phase", phase},
         {"done", done},
         {"cycle", world_.now()},
         {"cycles_per_s", cyclesPerSecond}});
    return !inputEnded();
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
    return runTrial(world_, spec, meter, [this](const auto& epoch) { return softwareTurn(epoch); });
  });
}

NextTurn Control::softwareTurn(const std::function<void()>& epoch) {
  say({{"event", "turn"}, {"id", id_}, {"cycle", world_.now()}});
  for (std::string line;;) {
    while (registers_ && registers_->serveInStep(epoch)) {
    }
    if (!nextLine(line)) {
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
  LiveSpec spec = parseLive(fields, openDevice_);
  fields.end();
  stops_ = 0;
  const LiveHooks hooks{[this](const json& taps) {
                          say({{"event", "live"}, {"id", id_}, {"cycle", world_.now()}, {"taps", taps}});
                        },
                        [this](const std::vector<int>& descriptors, bool sleep) { return stops(descriptors, sleep); }};
  return metered("defer", [&](RunMeter& meter) { return runLive(world_, std::move(spec), hooks, meter); });
}

int Control::stops(const std::vector<int>& descriptors, bool sleep) {
  std::vector<pollfd> waits{{input_, POLLIN, 0}};
  for (const int descriptor : descriptors) waits.push_back({descriptor, POLLIN, 0});
  const bool woken = poll(waits.data(), waits.size(), sleep ? -1 : 0) > 0;
  const bool ended = woken && (waits[0].revents & (POLLIN | POLLHUP)) && !readInput();
  for (std::string line; nextLine(line);) try {
      const json request = json::parse(line);
      Fields fields(request, "the command");
      const auto name = fields.need<std::string>("cmd");
      if (name != "stop" && stops_) {
        buffer_.insert(0, line + "\n");  // for when the run has ended
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
  const Cycle cycles = fields.whole("cycles", 1000, 1, INT64_MAX / kTicksPerCycle / 4);
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

Node& Control::puntNode(const std::string& name) {
  for (const auto& node : world_.nodes())
    if (node->port() && node->name() + ".punt" == name) return *node;
  throw std::invalid_argument("there is no punt stream \"" + name +
                              "\"; they are box0.inner.punt, box0.outer.punt, ...");
}

json Control::capture(Fields& fields) {
  const auto port = fields.need<std::string>("port");
  const bool punt = port.size() > 5 && port.compare(port.size() - 5, 5, ".punt") == 0;
  const auto direction = fields.get<std::string>("direction", "both");
  if (direction != "in" && direction != "out" && direction != "both")
    throw std::invalid_argument("\"direction\" must be in, out or both, not " + direction);
  Node& node = punt ? puntNode(port) : world_.portNode(parsePort(port));
  std::unique_ptr<Capture> capture;
  if (fields.has("file"))
    capture = std::make_unique<Capture>(fields.need<std::string>("file"), port,
                                        Capture::Choice{direction != "out", direction != "in"});
  fields.end();
  Capture* old = punt ? node.punt().capture() : node.port()->capture.get();
  if (old) old->close();
  if (punt)
    node.punt().setCapture(std::move(capture));
  else
    node.port()->capture = std::move(capture);
  return json::object();
}

bool Control::capturing() const {
  for (const auto& node : world_.nodes())
    if (node->port() && (node->port()->capture || node->punt().capture())) return true;
  return false;
}

void Control::closeCaptures() {
  for (const auto& node : world_.nodes()) {
    if (!node->port()) continue;
    if (node->port()->capture) node->port()->capture->close();
    node->port()->capture.reset();
    if (node->punt().capture()) node->punt().capture()->close();
    node->punt().setCapture(nullptr);
  }
}

json Control::fault(Fields& fields) {
  const auto seed = fields.get<uint64_t>("seed", seed_);
  if (fields.get<bool>("clear", false)) {
    fields.end();
    for (auto& link : world_.links()) link.transmitter->fault.clear();
    for (auto& cable : world_.cables()) cable.sender->setFault({}, seed);
    return json::object();
  }
  if (fields.has("cable")) {
    const auto name = fields.need<std::string>("cable");
    CableFault fault;
    fault.loss = fields.get<double>("loss", 0);
    fault.duplicate = fields.get<double>("duplicate", 0);
    fault.reorder = fields.get<double>("reorder", 0);
    fault.reorderDelay = nsToTicks(fields.whole("reorder_delay_ns", 1000, 0, 1'000'000'000));
    fields.end();
    for (auto& cable : world_.cables())
      if (cable.name == name) {
        cable.sender->setFault(fault, seed);
        return json::object();
      }
    throw std::invalid_argument("there is no cable \"" + name + "\"");
  }
  const auto name = fields.need<std::string>("link");
  const auto links = world_.links();
  for (size_t i = 0; i < links.size(); i++) {
    if (links[i].name != name) continue;
    LinkFault& fault = links[i].transmitter->fault;
    if (fields.has("ber")) fault.setBitErrors(fields.need<double>("ber"), seed, i);
    if (fields.has("burst_rate"))
      fault.setBursts(fields.need<double>("burst_rate"), static_cast<int>(fields.whole("burst_words", 1, 1, 1'000'000)),
                      seed, i);
    if (fields.has("down_for_us")) {
      const Cycle from = world_.now() + microsecondsToCycles(fields.get<double>("down_after_us", 0));
      fault.addDown({from, from + microsecondsToCycles(fields.need<double>("down_for_us"))});
    }
    fields.end();
    return json::object();
  }
  throw std::invalid_argument("there is no link \"" + name + "\"");
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
  json chips = json::array(), links = json::array(), cables = json::array();
  for (const auto& node : world_.nodes()) {
    json chip = {{"name", node->name()}, {"ready", node->ready()}};
    if (node->port()) {
      chip["mac_rx_frames"] = node->port()->rx.frames();
      chip["mac_tx_frames"] = node->port()->tx.frames();
      json punts = json::object();
      for (int reason = 0; reason <= kPuntReasons; reason++)
        if (node->punt().frames()[reason])
          punts[puntReasonName(static_cast<uint8_t>(reason))] = node->punt().frames()[reason];
      chip["punted"] = punts;
    }
    chips.push_back(chip);
  }
  for (const auto& link : world_.links())
    links.push_back({{"name", link.name},
                     {"words", link.transmitter->words()},
                     {"damaged_words", link.transmitter->fault.damagedWords()}});
  for (const auto& cable : world_.cables())
    cables.push_back({{"name", cable.name},
                      {"lost", cable.sender->lost()},
                      {"duplicated", cable.sender->duplicated()},
                      {"reordered", cable.sender->reordered()}});
  return {{"cycle", world_.now()}, {"chips", chips}, {"links", links}, {"cables", cables}};
}

json Control::quit(Fields& fields) {
  fields.end();
  closeCaptures();
  quit_ = true;
  return json::object();
}

json Control::branch(Fields& fields) {
  fields.end();
  if (branch_.inside()) throw std::invalid_argument("a branch has no branches: \"join\" ends the one there is");
  if (capturing())
    throw std::invalid_argument("a capture is on, whose file \"branch\" would make two write: close it first");
  world_.restThreads();
  const auto joined = branch_.take();
  if (branch_.inside()) {
    if (registers_) registers_->leaveClients();
    return json::object();
  }
  if (!joined) {
    quit_ = true;
    return nullptr;
  }
  buffer_ = joined->unread;
  return {{"cmd", "join"}, {"id", joined->id}};
}

json Control::join(Fields& fields) {
  fields.end();
  if (!branch_.inside()) throw std::invalid_argument("there is no branch to join: \"branch\" begins one");
  closeCaptures();
  branch_.join({id_, buffer_});
}

}  // namespace sallyport::sim
