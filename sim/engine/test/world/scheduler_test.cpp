// SPDX-License-Identifier: Apache-2.0
// Results depend neither on the number of threads nor on lock-step.
#include "world/scheduler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "test/tester/trials.h"
#include "tester/stream_spec.h"
#include "wire/capture.h"
#include "world/world.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What must depend neither on the number of threads nor on lock-step: results and captures of a
// faulty two-box run.
std::string everything(int threads, bool lockStep = false) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("sallyport-threads-" + std::to_string(::getpid()) + ".pcapng");
  World world({2, threads, 30, lockStep});
  world.reset();
  EXPECT_EQ(world.threads(), threads);
  world.portNode({1, "black"}).port()->capture =
      std::make_unique<Capture>(path, "box1.black", Capture::Choice{true, true});
  world.links()[1].transmitter->fault.setBitErrors(1e-6, 1, 1);
  world.links()[6].transmitter->fault.addDown({3000, 3500});
  CableFault fault;
  fault.loss = 0.001;
  fault.reorder = 0.01;
  world.cables()[1].sender->setFault(fault, 9);
  TrialSpec trial = bothWays(200, 40);
  trial.streams[0].flow.count = 50;
  trial.streams[0].flow.random = true;
  trial.streams[1].sizes = spreadSizes({{64, 7}, {594, 4}, {1518, 1}});
  const json result = run(world, trial);
  world.portNode({1, "black"}).port()->capture->close();
  std::string all = result.dump() + contents(path);
  std::filesystem::remove(path);
  return all;
}

TEST(Scheduler, ResultsDoNotDependOnTheNumberOfThreads) {
  const std::string one = everything(1);
  EXPECT_GT(one.size(), 100000u);
  for (int threads : {2, 3, 4, 6}) EXPECT_TRUE(everything(threads) == one) << threads << " threads";
}

TEST(Scheduler, LockStepGivesTheSameResults) { EXPECT_TRUE(everything(1, true) == everything(1)); }

}  // namespace
}  // namespace sallyport::sim
