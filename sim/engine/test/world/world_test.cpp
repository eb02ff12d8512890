// Whole topologies, with stand-in chips: trials, faults, determinism, registers.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "control/register_server.h"
#include "tester/replay.h"
#include "tester/test_packet.h"
#include "tester/trial.h"
#include "wire/capture.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

StreamSpec stream(uint16_t id, PortName from, PortName to, uint16_t size, int64_t percent) {
  StreamSpec spec;
  spec.id = id;
  spec.from = std::move(from);
  spec.to = std::move(to);
  spec.sizes = {size};
  spec.loadMicroPercent = percent * 1'000'000;
  return spec;
}

TrialSpec bothWays(uint16_t size, int64_t percent) {
  TrialSpec trial;
  trial.warmup = microsecondsToCycles(5);
  trial.measure = microsecondsToCycles(20);
  trial.streams = {stream(1, {0, "red"}, {1, "red"}, size, percent), stream(2, {1, "red"}, {0, "red"}, size, percent)};
  return trial;
}

json run(World& world, const TrialSpec& trial) {
  RunMeter meter(world);
  return runTrial(world, trial, meter);
}

TEST(World, TwoBoxesCarryTrafficBothWays) {
  World world({2, 1, 30});
  world.reset();
  const json result = run(world, bothWays(64, 60));
  EXPECT_TRUE(result["passed"]);
  EXPECT_EQ(result["total"]["lost_total"], 0);
  // 60 % of 148.81 Mpps each way.
  EXPECT_NEAR(result["total"]["mpps"].get<double>(), 2 * 89.29, 0.2);
  // Three links' and three cables' latency are the least there can be.
  EXPECT_GT(result["total"]["latency_ns"]["fifo"]["min"].get<double>(), 4 * 137 + 2 * 300);
}

TEST(World, OverloadIsSeenAsLoss) {
  World world({2, 1, 30});
  world.reset();
  const json result = run(world, bothWays(1400, 100));
  EXPECT_FALSE(result["passed"]);
  EXPECT_GT(result["total"]["lost"].get<int64_t>(), 0);
  EXPECT_TRUE(result["total"]["last_loss_ns"].is_number());
}

// The stand-ins need two link words a frame, so 65.5 % of 64 B line rate is their limit; their queue takes the rest for
// a while. fill.
TEST(World, AGrowingQueueFailsATrialWithoutLoss) {
  World world({2, 1, 30});
  world.reset();
  TrialSpec trial = bothWays(64, 68);
  trial.measure = microsecondsToCycles(10);
  const json result = run(world, trial);
  EXPECT_EQ(result["total"]["lost_total"], 0);
  EXPECT_TRUE(result["total"]["queue_growing"]);
  EXPECT_FALSE(result["passed"]);
}

TEST(World, CableFaultsAreCounted) {
  World world({2, 1, 30});
  world.reset();
  CableFault fault;
  fault.loss = 0.02;
  fault.duplicate = 0.02;
  fault.reorder = 0.05;
  auto* sender = world.cables()[0].sender;
  sender->setFault(fault, 5);
  const json result = run(world, bothWays(512, 50));
  const json& forward = result["streams"][0];
  EXPECT_GT(sender->lost(), 0);
  EXPECT_EQ(forward["lost_total"], sender->lost());
  EXPECT_EQ(forward["duplicated"], sender->duplicated());
  EXPECT_GT(forward["reordered"].get<int64_t>(), 0);
  EXPECT_LE(forward["reordered"].get<int64_t>(), sender->reordered());
  EXPECT_EQ(result["streams"][1]["lost_total"], 0);
}

// The stand-ins do not encrypt; ESP packets that the tester sends itself do as well.
TEST(World, EspIsPairedByItsOrder) {
  World world({1, 1, 30});
  world.reset();
  StreamSpec esp = stream(1, {0, "red"}, {0, "black"}, 64, 40);
  esp.expect = StreamSpec::Expect::kEsp;
  for (uint8_t n = 1; n <= 100; n++) {
    std::vector<uint8_t> frame(n % 2 ? 118 : 1454, 0);
    frame[12] = 0x08;
    frame[14] = 0x45;
    frame[23] = 50;
    frame[37] = 7;  // SPI
    frame[41] = n;
    esp.capture.push_back({0, frame});
  }
  esp.frames = 100;
  TrialSpec trial;
  trial.warmup = 0;
  trial.streams = {esp};
  const json result = run(world, trial);
  EXPECT_TRUE(result["passed"]) << result.dump();
  EXPECT_EQ(result["streams"][0]["rx_frames"], 100);
  EXPECT_EQ(result["streams"][0]["reordered"], 0);
  EXPECT_EQ(result["ports"][1]["rx_esp"], 100);
  EXPECT_EQ(result["total"]["latency_ns"]["fifo"]["count"], 100);

  std::swap(esp.capture[10], esp.capture[11]);
  esp.badFcsEvery = 4;
  esp.frames = 100;
  trial.streams = {esp};
  const json second = run(world, trial);
  EXPECT_EQ(second["total"]["tx_frames"], 75);
  EXPECT_EQ(second["total"]["lost"], 0);
  EXPECT_EQ(second["streams"][0]["reordered"], 1);
}

// Frames of an earlier run: their time is that run's, and what is measured is this one's.
TEST(World, RecordedFramesAreRecognised) {
  World world({1, 1, 30});
  world.reset();
  StreamSpec live = stream(1, {0, "black"}, {0, "red"}, 512, 40), recorded = live;
  live.frames = 100;
  for (uint32_t n = 0; n < 100; n++) {
    recorded.capture.emplace_back();
    buildPacket(recorded, n, 1'000'000'000, recorded.capture.back().bytes);
  }
  recorded.frames = 100;
  TrialSpec trial;
  trial.warmup = 0;
  trial.streams = {live};
  const json first = run(world, trial);
  trial.streams = {recorded};
  const json second = run(world, trial);
  EXPECT_TRUE(second["passed"]) << second.dump();
  EXPECT_EQ(second["total"]["rx_frames"], 100);
  // The second run begins at another place in a cycle.
  const auto average = [](const json& result) { return result["total"]["latency_ns"]["fifo"]["avg"].get<double>(); };
  EXPECT_NEAR(average(second), average(first), 2);

  std::swap(recorded.capture[10], recorded.capture[11]);
  recorded.capture[20] = recorded.capture[99];
  recorded.capture.pop_back();
  recorded.frames = 99;
  trial.streams = {recorded};
  const json third = run(world, trial);
  EXPECT_EQ(third["streams"][0]["reordered"], 79);
  EXPECT_EQ(third["streams"][0]["corrupted"], 1);
  EXPECT_FALSE(third["passed"]);
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What must depend neither on the number of threads nor on lock-step: results and captures of a faulty two-box run.
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

TEST(World, ResultsDoNotDependOnTheNumberOfThreads) {
  const std::string one = everything(1);
  EXPECT_GT(one.size(), 100000u);
  for (int threads : {2, 3, 4, 6}) EXPECT_TRUE(everything(threads) == one) << threads << " threads";
}

TEST(World, LockStepGivesTheSameResults) { EXPECT_TRUE(everything(1, true) == everything(1)); }

TEST(World, ReplayRunsUntilQuietAndPuntsAreCaptured) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("sallyport-punt-" + std::to_string(::getpid()) + ".pcapng");
  World world({1, 1, 30});
  world.reset();
  world.node(0, ChipKind::kInner).punt().setCapture(std::make_unique<Capture>(path, "punt", Capture::Choice{}));
  ReplaySpec spec;
  ReplayInput input;
  input.port = {0, "red"};
  std::vector<uint8_t> arp(42, 1), other(100, 2);
  arp[12] = 8;
  arp[13] = 6;
  for (int i = 0; i < 10; i++) input.frames.push_back({i * 100'000, i % 5 == 0 ? arp : other});
  input.original = true;
  input.badFcs = {2};
  spec.inputs = {input};
  RunMeter meter(world);
  const json result = runReplay(world, spec, meter);
  EXPECT_TRUE(result["quiescent"]);
  EXPECT_GT(meter.cycles(), 9 * 100 * 300);
  EXPECT_EQ(result["ports"][1]["rx_frames"], 7);
  EXPECT_EQ(world.node(0, ChipKind::kInner).punt().frames()[1], 2);
  world.node(0, ChipKind::kInner).punt().capture()->close();
  EXPECT_EQ(readCapture(path).size(), 2u);
  std::filesystem::remove(path);
}

TEST(World, InjectedFramesLeaveByTheirOwnChipsPort) {
  World world({1, 1, 30});
  world.reset();
  ReplaySpec spec;
  ReplayInput input;
  input.port = {0, "outer.inject"};
  input.pad = false;
  for (int i = 0; i < 7; i++) input.frames.push_back({0, std::vector<uint8_t>(20 + 50 * i, 3)});
  spec.inputs = {input};
  RunMeter meter(world);
  const json result = runReplay(world, spec, meter);
  EXPECT_TRUE(result["quiescent"]);
  EXPECT_EQ(result["ports"][0]["rx_frames"], 0);
  EXPECT_EQ(result["ports"][1]["rx_frames"], 7);
  EXPECT_EQ(result["ports"][2]["tx_frames"], 7);
  EXPECT_EQ(result["ports"][2]["port"], "box0.outer.inject");
  spec.inputs = {input, input};
  EXPECT_THROW(runReplay(world, spec, meter), std::invalid_argument);
  spec.inputs = {input};
  spec.inputs[0].port.box = 1;
  EXPECT_THROW(runReplay(world, spec, meter), std::invalid_argument);
}

TEST(World, ImpossibleTrialsAreRefused) {
  World world({2, 1, 30});
  TrialSpec trial = bothWays(64, 10);
  trial.streams[1].to = {0, "black"};
  EXPECT_THROW(run(world, trial), std::invalid_argument);
  trial = bothWays(60, 10);
  EXPECT_THROW(run(world, trial), std::invalid_argument);
  trial = bothWays(64, 10);
  trial.streams[1].id = 1;
  EXPECT_THROW(run(world, trial), std::invalid_argument);
}

class Registers : public ::testing::Test {
 protected:
  std::string directory = std::filesystem::temp_directory_path() / ("sallyport-regs-" + std::to_string(::getpid()));
  World world{{1, 1, 30}};
  std::unique_ptr<RegisterServer> server;
  int fd = -1;

  void SetUp() override {
    std::filesystem::create_directory(directory);
    world.reset();
    server = std::make_unique<RegisterServer>(world, directory);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/box0.sock", directory.c_str());
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void TearDown() override {
    close(fd);
    server.reset();
    std::filesystem::remove_all(directory);
  }
  void ask(uint32_t op, uint8_t chip, uint32_t address, uint32_t data) const {
    const uint32_t words[3] = {op | uint32_t{chip} << 8, address, data};
    ASSERT_EQ(write(fd, words, sizeof words), 12);
  }
  std::pair<uint32_t, uint32_t> answer() const {
    uint32_t words[2] = {1, 1};
    EXPECT_EQ(recv(fd, words, sizeof words, MSG_WAITALL), 8);
    return {words[0], words[1]};
  }
};

TEST_F(Registers, AnswersInOrderWhileTheWorldStandsStill) {
  const Cycle before = world.now();
  for (uint32_t i = 0; i < 20; i++) ask(2, i % 3, 4 * i, 1000 + i);
  for (uint32_t i = 0; i < 20; i++) ask(1, i % 3, 4 * i, 0);
  ask(1, 7, 0, 0);
  ask(1, 0, 0x8000, 0);
  while (server->serveStill()) {
  }
  for (uint32_t i = 0; i < 20; i++) EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  for (uint32_t i = 0; i < 20; i++) EXPECT_EQ(answer(), std::make_pair(0u, 1000 + i));
  EXPECT_EQ(answer().first, RegisterServer::kNonsense);
  EXPECT_EQ(answer().first, 2u);  // the stand-in's SLVERR
  EXPECT_EQ(world.now(), before);
}

TEST_F(Registers, WorksDuringARun) {
  world.setBetweenEpochs([this] { server->serveLive(); });
  ask(2, 1, 8, 77);
  ask(1, 1, 8, 0);
  for (int i = 0; i < 8; i++) world.runEpoch();
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(answer(), std::make_pair(0u, 77u));
}

TEST_F(Registers, TimePassesInStepWithABatch) {
  int64_t epochs = 0;
  auto serve = [&] {
    return server->serveInStep([&] {
      world.runEpoch();
      epochs++;
    });
  };
  const uint32_t ahead = 2u << 16;
  ask(2 | ahead, 1, 8, 77);
  ask(1, 1, 8, 0);
  EXPECT_FALSE(serve());  // one of three is missing: what comes late must not change when the others are done
  EXPECT_EQ(epochs, 0);
  ask(1, 2, 4, 0);
  EXPECT_TRUE(serve());
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(answer(), std::make_pair(0u, 77u));
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(epochs, 2);  // one a chip
  EXPECT_FALSE(serve());
  const Cycle before = world.now();
  ask(3, 0, 0, 1000);
  ask(5, 0, 0, 0);
  EXPECT_TRUE(serve());
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(answer().first, RegisterServer::kNonsense);
  EXPECT_EQ(world.now() - before, 320);  // 1000 ns are 300 cycles, in epochs of 32
}

TEST_F(Registers, AReadWaitsForBitsInEveryMode) {
  ask(2, 1, 8, 6);
  ask(4, 1, 8, 1);
  ask(4, 1, 8, 2);  // which nothing clears: it ends all the same
  ask(4, 0, 0x8000, 0xFFFFFFFF);
  while (server->serveStill()) {
  }
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(answer(), std::make_pair(0u, 6u));
  EXPECT_EQ(answer(), std::make_pair(0u, 6u));
  EXPECT_EQ(answer().first, 2u);  // an error does not wait
  world.setBetweenEpochs([this] { server->serveLive(); });
  ask(4, 1, 8, 1);
  for (int i = 0; i < 4; i++) world.runEpoch();
  EXPECT_EQ(answer(), std::make_pair(0u, 6u));
  ask(4, 1, 8, 2);
  for (int i = 0; i < 8; i++) world.runEpoch();
  world.setBetweenEpochs({});
  EXPECT_TRUE(server->serveStill());  // the run ended before its bits fell
  EXPECT_EQ(answer(), std::make_pair(0u, 6u));
  int64_t epochs = 0;
  ask(4 | 1u << 16, 1, 8, 1);
  ask(1, 1, 8, 0);
  EXPECT_TRUE(server->serveInStep([&] {
    world.runEpoch();
    epochs++;
  }));
  EXPECT_EQ(answer(), std::make_pair(0u, 6u));
  EXPECT_EQ(answer(), std::make_pair(0u, 6u));
  EXPECT_EQ(epochs, 2);  // what follows such a read begins with an epoch of its own
}

TEST_F(Registers, WaitsInEveryMode) {
  ask(3, 0, 0, 1000);
  const Cycle before = world.now();
  EXPECT_TRUE(server->serveStill());
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(world.now(), before);
  world.setBetweenEpochs([this] { server->serveLive(); });
  ask(3, 0, 0, 1000);
  ask(1, 0, 0, 0);
  auto answered = [&] {
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
  };
  for (int i = 0; i < 10; i++) {
    EXPECT_FALSE(answered()) << i;
    world.runEpoch();
  }
  for (int i = 0; i < 4; i++) world.runEpoch();
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  ask(3, 0, 0, 1000);
  world.runEpoch();
  EXPECT_TRUE(server->serveStill());  // the run ended
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
}

}  // namespace
}  // namespace sallyport::sim
