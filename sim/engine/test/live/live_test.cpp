// SPDX-License-Identifier: Apache-2.0
// Live runs with stand-in chips: a socket pair is the host's device, so the tests need no
// special rights.
#include "live/live.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "live/tap.h"
#include "wire/pcap_reader.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;
using Bytes = std::vector<uint8_t>;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The host's end of a device, and the device.
struct Host {
  Host() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    fd = ends[0];
    device = std::make_unique<FrameDevice>(ends[1], "pair", true);
  }
  ~Host() {
    if (fd >= 0) close(fd);
  }
  void send(size_t bytes, uint8_t value) const {
    const Bytes frame(bytes, value);
    EXPECT_EQ(write(fd, frame.data(), frame.size()), ssize_t(bytes));
  }
  // Lengths of the frames that came.
  std::vector<size_t> received() const {
    std::vector<size_t> all;
    char frame[70000];
    for (ssize_t got; (got = read(fd, frame, sizeof frame)) > 0;) all.push_back(static_cast<size_t>(got));
    return all;
  }
  int fd = -1;
  std::unique_ptr<FrameDevice> device;
};

class Live : public ::testing::Test {
 protected:
  std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sallyport-live-" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::create_directory(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }
  std::string file(const char* name) const { return directory / name; }

  // What the host does whenever the world sleeps: a step a time, then it says stop.
  static json live(World& world, LiveSpec spec, std::vector<std::function<void()>> steps = {}) {
    size_t slept = 0;
    const LiveHooks hooks{[](const json&) {},
                          [&](const std::vector<int>&, bool sleep) {
                            if (sleep && slept++ < steps.size()) steps[slept - 1]();
                            return slept > steps.size() ? 1 : 0;
                          },
                          [] { return LiveSoftware(); }};
    RunMeter meter(world);
    return runLive(world, std::move(spec), hooks, meter);
  }
  static LiveSpec between(Host& a, Host& b, const std::string& record = "") {
    LiveSpec spec;
    spec.taps.push_back({{0, "red"}, std::move(a.device)});
    spec.taps.push_back({{1, "red"}, std::move(b.device)});
    spec.record = record;
    spec.quiet = 2048;
    return spec;
  }
  static LiveSpec again(const std::string& path, const std::string& record) {
    LiveSpec spec;
    spec.replay = readPcapng(path);
    spec.replayPath = path;
    spec.record = record;
    spec.quiet = 2048;
    return spec;
  }
  // A session of three bursts with a sleep before each.
  static json session(int threads, const std::string& record, std::vector<size_t>* there, std::vector<size_t>* back) {
    World world({2, threads, 30});
    world.reset();
    Host a, b;
    const json result = live(world, between(a, b, record),
                             {[&] { a.send(100, 1); },
                              [&] {
                                for (int i = 0; i < 12; i++) a.send(60 + 35 * i, 2);
                                for (int i = 0; i < 9; i++) b.send(500 - 7 * i, 3);
                              },
                              [&] { b.send(20, 4); }});
    *there = b.received();
    *back = a.received();
    return result;
  }
  static std::string refusal(World& world, LiveSpec spec) {
    try {
      live(world, std::move(spec));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Live, FramesOfTheHostCrossAndShortOnesArePadded) {
  std::vector<size_t> there, back;
  const json result = session(1, "", &there, &back);
  ASSERT_EQ(there.size(), 13u);
  EXPECT_EQ(there[0], 100u);
  EXPECT_EQ(there[12], 60u + 35 * 11);
  ASSERT_EQ(back.size(), 10u);
  EXPECT_EQ(back[9], 60u);
  EXPECT_TRUE(result["quiescent"]);
  EXPECT_FALSE(result.contains("gone"));
  const json expected = {
      {{"port", "box0.red"}, {"in_frames", 13}, {"out_frames", 10}, {"device", "pair"}, {"undelivered", 0}},
      {{"port", "box0.black"}, {"in_frames", 10}, {"out_frames", 13}},
      {{"port", "box1.black"}, {"in_frames", 13}, {"out_frames", 10}},
      {{"port", "box1.red"}, {"in_frames", 10}, {"out_frames", 13}, {"device", "pair"}, {"undelivered", 0}}};
  ASSERT_EQ(result["ports"].size(), 4u);
  for (const auto& row : expected)
    EXPECT_NE(std::find(result["ports"].begin(), result["ports"].end(), row), result["ports"].end()) << row;
}

TEST_F(Live, TimeStandsStillWhileTheHostIsSilent) {
  World world({1, 1, 30});
  world.reset();
  Host red;
  LiveSpec spec;
  spec.taps.push_back({{0, "red"}, std::move(red.device)});
  spec.quiet = 2048;
  std::vector<Cycle> cycles;
  auto look = [&] { cycles.push_back(world.now()); };
  live(world, std::move(spec), {look, look, look, [&] { look(), red.send(64, 1); }, look});
  EXPECT_EQ(cycles[0], cycles[3]);
  EXPECT_GT(cycles[4], cycles[3] + 2048);
  EXPECT_LT(cycles[4], cycles[3] + 2 * 2048);
}

TEST_F(Live, ARecordingIsTheSessionAndReplaysByteForByte) {
  std::vector<size_t> there, back;
  session(1, file("one"), &there, &back);
  const std::string recorded = contents(file("one"));
  const PcapngFile read = readPcapng(file("one"));
  EXPECT_EQ(read.interfaces, (std::vector<std::string>{"box0.red", "box0.black", "box1.red", "box1.black"}));
  ASSERT_EQ(read.frames.size(), 4 * (13u + 10u));
  for (size_t i = 1; i < read.frames.size(); i++) EXPECT_GE(read.frames[i].ns, read.frames[i - 1].ns);
  EXPECT_GT(read.endNs, read.frames.back().ns);
  EXPECT_EQ(readCapture(file("one")).size(), read.frames.size());  // libpcap reads it, too
  for (int threads : {1, 2, 6}) {
    World world({2, threads, 30});
    world.reset();
    const json result = live(world, again(file("one"), file("two")));
    EXPECT_TRUE(contents(file("two")) == recorded) << threads << " threads";
    EXPECT_EQ(result["ports"][0]["in_frames"], 13);
    EXPECT_EQ(result["ports"][0]["out_frames"], 10);
  }
}

// As after Wireshark has saved it, or a process was killed.
TEST_F(Live, ARecordingWithoutItsEndRunsUntilAllIsQuiet) {
  std::vector<size_t> there, back;
  session(1, file("one"), &there, &back);
  LiveSpec spec = again(file("one"), file("two"));
  spec.replay->endNs = -1;
  World world({2, 1, 30});
  world.reset();
  live(world, std::move(spec));
  const PcapngFile one = readPcapng(file("one")), two = readPcapng(file("two"));
  ASSERT_EQ(one.frames.size(), two.frames.size());
  for (size_t i = 0; i < one.frames.size(); i++) {
    EXPECT_EQ(one.frames[i].ns, two.frames[i].ns);
    EXPECT_TRUE(one.frames[i].bytes == two.frames[i].bytes);
  }
}

TEST_F(Live, ADeviceThatGoesAwayEndsTheRun) {
  World world({2, 1, 30});
  world.reset();
  Host a, b;
  LiveSpec spec = between(a, b);
  const json result =
      live(world, std::move(spec),
           {[&] { a.send(200, 1), a.send(300, 1); }, [&] { b.send(400, 1), close(std::exchange(a.fd, -1)); },
            [] { FAIL() << "the run went on"; }});
  EXPECT_EQ(result["gone"], "device pair went away: it was deleted, or the namespace that it was in");
  EXPECT_EQ(b.received(), (std::vector<size_t>{200, 300}));
}

TEST_F(Live, WhatDoesNotFitIsRefused) {
  World world({2, 1, 30});
  world.reset();
  Host a, b, c;
  LiveSpec two = between(a, b);
  two.taps.push_back({{1, "red"}, std::move(c.device)});
  EXPECT_EQ(refusal(world, std::move(two)), "port box1.red has two devices");
  Host d;
  LiveSpec cabled;
  cabled.taps.push_back({{0, "black"}, std::move(d.device)});
  EXPECT_NE(refusal(world, std::move(cabled)).find("is cabled to the other box"), std::string::npos);
  Host e, f;
  EXPECT_NE(refusal(world, between(e, f, "/nonexistent/x.pcapng")).find("cannot write capture"), std::string::npos);

  std::vector<size_t> there, back;
  session(1, file("one"), &there, &back);
  World other({1, 1, 30});
  other.reset();
  EXPECT_NE(refusal(other, again(file("one"), "")).find("but the simulation has the ports box0.red, box0.black"),
            std::string::npos);
  LiveSpec early = again(file("one"), "");
  early.replay->frames[0].ns = 3;
  EXPECT_NE(refusal(world, std::move(early)).find("has a frame of cycle 1, and the simulation is at"),
            std::string::npos);
}

TEST_F(Live, FilesThatAreNoRecordingAreRefused) {
  std::vector<size_t> there, back;
  session(1, file("good"), &there, &back);
  const std::string good = contents(file("good"));
  auto put32 = [](std::string text, size_t at, uint32_t value) {
    return text.replace(at, 4, reinterpret_cast<const char*>(&value), 4);
  };
  const auto first = static_cast<uint8_t>(good[4]);  // where the first interface is described
  const std::pair<std::string, std::string> cases[] = {
      {"", "is no pcapng file"},
      {"nothing of the kind", "is no pcapng file"},
      {good.substr(0, good.size() - 4), "a block is cut short"},
      {good + good, "has several sections"},
      {put32(good, 8, 0x4D3C2B1A), "of the other byte order"},
      {put32(good, first + 8, 101), "link type 101 is not Ethernet"},
      {put32(good, first, 99), "a block names interface 3, which was not described"},
      {put32(good, first + 16, 0), "times are not in nanoseconds"},
      {put32(good, first + 4, 7), "a block is cut short"}};
  for (const auto& [text, sentence] : cases) {
    std::ofstream(file("bad"), std::ios::binary) << text;
    std::string message;
    try {
      readPcapng(file("bad"));
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message.find(file("bad")), 0u) << message;
    EXPECT_NE(message.find(sentence), std::string::npos) << message;
  }
  EXPECT_THROW(readPcapng("/nonexistent/x"), std::runtime_error);
}

TEST_F(Live, NamesThatNoDeviceHasAreRefused) {
  for (const auto& [name, sentence] :
       {std::pair<std::string, std::string>{"a-name-of-16-byt", "is too long: Linux takes 15 characters, this has 16"},
        {"", "is none that Linux takes"},
        {"a/b", "is none that Linux takes"},
        {"tap%d", "is none that Linux takes"},
        {"lo", "cannot open TAP lo"}}) {
    std::string message;
    try {
      openTap(name);
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(sentence), std::string::npos) << name << ": " << message;
  }
}

}  // namespace
}  // namespace sallyport::sim
