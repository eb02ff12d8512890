// SPDX-License-Identifier: Apache-2.0
// Register access by a socket: while the world stands still, between epochs, in step with a batch.
#include "control/register_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace sallyport::sim {
namespace {

class RegisterServerTest : public ::testing::Test {
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

TEST_F(RegisterServerTest, AnswersInOrderWhileTheWorldStandsStill) {
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

TEST_F(RegisterServerTest, WorksDuringARun) {
  world.setBetweenEpochs([this] { server->serveLive(); });
  ask(2, 1, 8, 77);
  ask(1, 1, 8, 0);
  for (int i = 0; i < 8; i++) world.runEpoch();
  EXPECT_EQ(answer(), std::make_pair(0u, 0u));
  EXPECT_EQ(answer(), std::make_pair(0u, 77u));
}

TEST_F(RegisterServerTest, TimePassesInStepWithABatch) {
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
  // one of three is missing: a late request must not change when the others are done
  EXPECT_FALSE(serve());
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

TEST_F(RegisterServerTest, AReadWaitsForBitsInEveryMode) {
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

TEST_F(RegisterServerTest, WaitsInEveryMode) {
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
