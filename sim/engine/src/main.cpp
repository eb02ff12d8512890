// SPDX-License-Identifier: Apache-2.0
// sallyport-sim: one or two boxes of three chips, or a cluster of them, in one process.
// docs/reference/simulator.md describes its input and output.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "control/control.h"

namespace {

const char* const kUsage =
    "usage: sallyport-sim [--boxes 1|2 | --nodes 1-128] [--threads N | --lock-step] [--seed N] [--socket-dir "
    "DIR] [--cable-latency-ns N] [--switch-latency-ns N] [--switch-queue-bytes N] [--core-mhz F]\n"
    "Reads commands and writes results as JSON lines; see docs/reference/simulator.md.\n";

struct Arguments {
  sallyport::sim::WorldOptions world;
  uint64_t seed = 1;
  std::string socketDirectory;
};

int64_t number(const std::string& option, const char* text) {
  char* end;
  const int64_t value = text ? std::strtoll(text, &end, 10) : -1;
  if (!text || *end || end == text || value < 0) {
    fprintf(stderr, "sallyport-sim: %s needs a number of 0 or more\n", option.c_str());
    exit(2);
  }
  return value;
}

int nodes(const char* text) {
  const int64_t value = number("--nodes", text);
  if (value < 1 || value > sallyport::sim::Cluster::kMostNodes) {
    fprintf(stderr, "sallyport-sim: --nodes %s: give 1 to %d\n", text, sallyport::sim::Cluster::kMostNodes);
    exit(2);
  }
  return static_cast<int>(value);
}

// The nearest clock of a whole number of ticks that is no faster than asked.
sallyport::sim::CoreClock clock(const char* text) {
  using sallyport::sim::CoreClock;
  static const double slowest = CoreClock(CoreClock::kSlowest).mhz(), fastest = CoreClock(CoreClock::kFastest).mhz();
  char* end;
  const double mhz = text ? std::strtod(text, &end) : 0;
  if (!text || *end || end == text || !(mhz >= slowest && mhz <= fastest)) {
    fprintf(stderr, "sallyport-sim: --core-mhz %s: give a clock from %.0f to %.0f MHz\n", text ? text : "", slowest,
            fastest);
    exit(2);
  }
  return CoreClock::atMost(mhz);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--help") {
      fputs(kUsage, stdout);
      exit(0);
    }
    if (option == "--lock-step") {
      arguments.world.lockStep = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (option == "--boxes")
      arguments.world.boxes = static_cast<int>(number(option, value));
    else if (option == "--nodes")
      arguments.world.cluster.nodes = nodes(value);
    else if (option == "--switch-latency-ns")
      arguments.world.cluster.switchLatencyNs = number(option, value);
    else if (option == "--switch-queue-bytes")
      arguments.world.cluster.queueBytes = number(option, value);
    else if (option == "--threads")
      arguments.world.threads = static_cast<int>(number(option, value));
    else if (option == "--seed")
      arguments.seed = static_cast<uint64_t>(number(option, value));
    else if (option == "--cable-latency-ns")
      arguments.world.cableLatencyNs = number(option, value);
    else if (option == "--core-mhz")
      sallyport::sim::coreClock = clock(value);
    else if (option == "--socket-dir" && value)
      arguments.socketDirectory = value;
    else {
      fprintf(stderr, "sallyport-sim: unknown or incomplete option %s\n%s", option.c_str(), kUsage);
      exit(2);
    }
  }
  if (arguments.world.lockStep && arguments.world.threads > 1) {
    fprintf(stderr, "sallyport-sim: --lock-step runs on one thread; leave --threads %d out\n", arguments.world.threads);
    exit(2);
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace sallyport::sim;
  const Arguments arguments = parse(argc, argv);
  try {
    World world(arguments.world);
    world.reset();
    std::unique_ptr<Software> software;
    if (!arguments.socketDirectory.empty()) software = std::make_unique<Software>(world, arguments.socketDirectory);
    Control(world, software.get(), arguments.seed, STDIN_FILENO, stdout).run();
  } catch (const std::exception& error) {
    fprintf(stderr, "sallyport-sim: %s\n", error.what());
    return 1;
  }
  return 0;
}
