// SPDX-License-Identifier: Apache-2.0
// Software at its sockets during live runs, with stand-in chips: registers and frames while the
// world sleeps and while it does not.
#include "control/software.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "live/recording.h"
#include "wire/pcapng_reader.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;
using Bytes = std::vector<uint8_t>;

constexpr Cycle kQuiet = 2048;

// A client of a socket.
struct Client {
  Client(const std::string& path, int type) : fd(socket(AF_UNIX, type, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { leave(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  void leave() {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  void ask(uint32_t op, uint8_t chip, uint32_t address, uint32_t data) const {
    const uint32_t words[3] = {op | uint32_t{chip} << 8, address, data};
    EXPECT_EQ(::send(fd, words, sizeof words, MSG_DONTWAIT), 12);
  }
  // So many writes of 0, 1, ... at once, to one register after the other.
  void writeMany(uint8_t chip, uint32_t count) const {
    std::vector<uint32_t> words;
    for (uint32_t i = 0; i < count; i++) words.insert(words.end(), {2 | uint32_t{chip} << 8, 4 * (i % 64), i});
    EXPECT_EQ(::send(fd, words.data(), 4 * words.size(), MSG_DONTWAIT), ssize_t(4 * words.size()));
  }
  // Data of the next `count` responses, which are there and good.
  std::vector<uint32_t> answers(size_t count) const {
    std::vector<uint32_t> all;
    for (uint32_t words[2]; all.size() < count; all.push_back(words[1])) {
      if (recv(fd, words, sizeof words, MSG_DONTWAIT) != 8 || words[0] != 0) break;
    }
    return all;
  }
  void inject(uint8_t port, size_t bytes, uint8_t value) const {
    Bytes message(1 + bytes, value);
    message[0] = port;
    EXPECT_EQ(::send(fd, message.data(), message.size(), MSG_DONTWAIT), ssize_t(message.size()));
  }
  // The next message; empty without one.
  Bytes message() const {
    Bytes got(20000);
    const ssize_t size = recv(fd, got.data(), got.size(), MSG_DONTWAIT);
    got.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return got;
  }
  bool refused() const {
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
  }

  int fd;
};

class LiveSoftwareTest : public ::testing::Test {
 protected:
  std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sallyport-software-" + std::to_string(::getpid()));
  World world{{1, 1, 30}};
  std::unique_ptr<Software> software;
  int black = -1;  // the host's end of the device at the black port

  void SetUp() override {
    std::filesystem::create_directory(directory);
    world.reset();
    software = std::make_unique<Software>(world, directory);
  }
  void TearDown() override {
    software.reset();
    if (black >= 0) close(black);
    std::filesystem::remove_all(directory);
  }
  std::string at(const char* name) const { return directory / name; }

  // A live run with a device at the black port; a step whenever the world sleeps, then it
  // is stopped.
  json live(const std::vector<std::function<void()>>& steps, const std::string& record = "") {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    if (black >= 0) close(black);
    black = ends[0];
    LiveSpec spec;
    spec.taps.push_back({{0, "black"}, std::make_unique<FrameDevice>(ends[1], "pair")});
    spec.quiet = kQuiet;
    spec.record = record;
    return run(std::move(spec), steps);
  }
  json run(LiveSpec spec, const std::vector<std::function<void()>>& steps) {
    size_t slept = 0;
    const LiveHooks hooks{[&](const json&) { software->beginLive(); },
                          [&](const std::vector<int>&, bool sleep) {
                            if (sleep && slept++ < steps.size()) steps[slept - 1]();
                            return slept > steps.size() ? 1 : 0;
                          },
                          [&] { return software->serveLive(); }};
    RunMeter meter(world);
    return runLive(world, std::move(spec), hooks, meter);
  }
  // A frame of the host's that the stand-in punts.
  void arp(uint8_t value) const {
    Bytes frame(60, value);
    frame[12] = 0x08, frame[13] = 0x06;
    EXPECT_EQ(write(black, frame.data(), frame.size()), 60);
  }
  // Sizes of the messages that came to the host.
  std::vector<size_t> received() const {
    std::vector<size_t> all;
    char frame[20000];
    for (ssize_t got; (got = read(black, frame, sizeof frame)) > 0;) all.push_back(static_cast<size_t>(got));
    return all;
  }
  json status() const { return software->frames().status().at(0); }
};

TEST_F(LiveSoftwareTest, RegistersWakeASleepingWorldForAsLongAsTheyTake) {
  const Client one(at("box0.sock"), SOCK_STREAM), other(at("box0.sock"), SOCK_STREAM);
  Cycle before = 0;
  const json result = live({[&] {
                              before = world.now();
                              one.writeMany(1, 1000);
                              other.ask(1, 2, 0, 0);
                            },
                            [&] {
                              EXPECT_EQ(one.answers(1001).size(), 1000u);
                              EXPECT_EQ(other.answers(2).size(), 1u);
                              // A few cycles an access, and the chips lie still again.
                              EXPECT_GT(world.now(), before + 2000);
                              EXPECT_LT(world.now(), before + 5000);
                              before = world.now();
                              one.ask(1, 1, 4, 0), other.ask(1, 1, 8, 0);  // of one chip, at once
                            },
                            [&] {
                              EXPECT_EQ(one.answers(2), std::vector<uint32_t>{961});
                              EXPECT_EQ(other.answers(2), std::vector<uint32_t>{962});
                              EXPECT_LE(world.now(), before + 4 * coreClock.lookahead);
                            }});
  EXPECT_EQ(result["software"], json({{"requests", 1003}, {"injected", 0}}));
}

TEST_F(LiveSoftwareTest, WaitsAndReadsThatWaitTakeTime) {
  const Client client(at("box0.sock"), SOCK_STREAM);
  Cycle before = 0;
  live({[&] {
          before = world.now();
          client.ask(3, 0, 0, 10'000), client.ask(2, 0, 0, 6), client.ask(4, 0, 0, 1), client.ask(3, 0, 0, 0);
        },
        [&] {
          EXPECT_EQ(client.answers(5), (std::vector<uint32_t>{0, 0, 6, 0}));
          EXPECT_GE(world.now(), before + 3000);
          EXPECT_LE(world.now(), before + 3000 + 6 * coreClock.lookahead);
        }});
}

TEST_F(LiveSoftwareTest, AccessesThatARunLeavesAreAnsweredBehindIt) {
  const Client client(at("box0.sock"), SOCK_STREAM);
  live({});
  software->beginLive();
  client.writeMany(1, 300);
  client.ask(3, 0, 0, 1'000'000);
  software->serveLive();
  world.runEpoch();
  software->serveLive();
  EXPECT_TRUE(software->registers().needsTime());
  while (software->registers().serveStill()) {
  }
  EXPECT_FALSE(software->registers().needsTime());
  EXPECT_EQ(client.answers(302).size(), 301u);
  client.ask(1, 1, 4 * 43, 0);
  while (software->registers().serveStill()) {
  }
  EXPECT_EQ(client.answers(1), std::vector<uint32_t>{299});
}

TEST_F(LiveSoftwareTest, PuntedFramesComeWithTheirHeaderAndAnswersGoOut) {
  const Client client(at("box0.frames"), SOCK_SEQPACKET);
  const json result = live({[&] { arp(7); },
                            [&] {
                              const Bytes punted = client.message();
                              ASSERT_EQ(punted.size(), 16u + 60);
                              EXPECT_EQ(PuntHeader::read(punted).port, 1);
                              EXPECT_EQ(punted.back(), 7);
                              EXPECT_TRUE(client.message().empty());
                              client.inject(1, 100, 9);
                            },
                            [&] {
                              EXPECT_EQ(received(), std::vector<size_t>{100});
                              client.inject(0, 64, 9);  // out of red, where there is no device
                            }});
  EXPECT_EQ(result["software"], json({{"requests", 0}, {"injected", 2}}));
  EXPECT_EQ(result["ports"][0]["out_frames"], 1);
  EXPECT_TRUE(received().empty());
}

TEST_F(LiveSoftwareTest, InjectedFramesWaitInTheSocketWhileThereIsNoRoom) {
  const Client client(at("box0.frames"), SOCK_SEQPACKET);
  for (size_t i = 0; i < 150; i++) client.inject(1, 60 + i, 1);
  software->frames().serve();
  EXPECT_EQ(status()["injecting"], InjectQueue::kMost);  // between runs nothing takes them
  auto waits = software->frames().descriptors();
  EXPECT_EQ(poll(waits.data(), waits.size(), 0), 0);  // nor is there anything to do
  live({[] {}});
  const auto sizes = received();
  ASSERT_EQ(sizes.size(), 150u);
  for (size_t i = 0; i < sizes.size(); i++) EXPECT_EQ(sizes[i], 60 + i);
  EXPECT_EQ(status()["injected"], 150);
}

TEST_F(LiveSoftwareTest, OneClientATimeAndTheNextGetsWhatWaits) {
  auto first = std::make_unique<Client>(at("box0.frames"), SOCK_SEQPACKET);
  const Client second(at("box0.frames"), SOCK_SEQPACKET);
  std::unique_ptr<Client> third;
  live({[&] { arp(1); },
        [&] {
          EXPECT_TRUE(second.refused());
          EXPECT_EQ(first->message().back(), 1);
          first->inject(1, 80, 0);  // and goes at once
          first.reset();
        },
        [&] {
          EXPECT_EQ(received(), std::vector<size_t>{80});
          EXPECT_EQ(status()["client"], false);
          for (uint8_t i = 0; i < 100; i++) arp(i);
        },
        [&] {
          for (int i = 100; i < 200; i++) arp(static_cast<uint8_t>(i));
        },
        [&] {
          for (int i = 200; i < 256; i++) arp(static_cast<uint8_t>(i));
          for (int i = 0; i < 44; i++) arp(static_cast<uint8_t>(i));
        },
        [&] {
          EXPECT_EQ(status()["waiting"], PuntQueue::kMost);
          EXPECT_EQ(status()["dropped"], 44);
          third = std::make_unique<Client>(at("box0.frames"), SOCK_SEQPACKET);
        },
        [&] {
          size_t got = 0;
          for (Bytes punted; !(punted = third->message()).empty(); got++)
            EXPECT_EQ(punted.back(), static_cast<uint8_t>(44 + got));
          EXPECT_EQ(got, PuntQueue::kMost);
          EXPECT_EQ(status()["delivered"], 1 + got);
        }});
}

TEST_F(LiveSoftwareTest, MessagesThatMakeNoSenseAreCounted) {
  const Client client(at("box0.frames"), SOCK_SEQPACKET);
  client.inject(3, 64, 0);
  client.inject(0, 0, 0);
  client.inject(0, 1, 0);  // for the chip to judge
  software->frames().serve();
  EXPECT_EQ(status()["malformed"], 2);
  EXPECT_EQ(status()["injected"], 1);
  EXPECT_TRUE(status()["client"]);
}

TEST_F(LiveSoftwareTest, ARecordingSaysThatSoftwareTookPartAndIsNotReplayed) {
  const Client client(at("box0.frames"), SOCK_SEQPACKET), registers(at("box0.sock"), SOCK_STREAM);
  live({[&] { arp(1); }}, at("silent"));  // it only listens
  EXPECT_TRUE(readPcapng(at("silent")).comments.empty());
  live({[&] { arp(1); }, [&] { client.inject(1, 64, 0); }}, at("injected"));
  live({[&] { arp(1); }, [&] { registers.ask(1, 0, 0, 0); }}, at("accessed"));
  for (const char* name : {"injected", "accessed"}) {
    LiveSpec spec;
    spec.replay = readPcapng(at(name));
    spec.replayPath = name;
    EXPECT_EQ(spec.replay->comments, std::vector<std::string>{Recording::kSoftware});
    try {
      run(std::move(spec), {});
      FAIL() << name << " was replayed";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find(name + std::string(": software accessed registers or injected")), 0u);
    }
  }
}

TEST_F(LiveSoftwareTest, NothingOfItIsInOtherRuns) {
  const Client client(at("box0.frames"), SOCK_SEQPACKET);
  client.inject(1, 64, 0);
  software->frames().serve();
  for (int i = 0; i < 100; i++) world.runEpoch();
  EXPECT_EQ(world.portNode({0, "black"}).port()->tx.frames(), 0);
  EXPECT_EQ(status()["injecting"], 1);
}

}  // namespace
}  // namespace sallyport::sim
