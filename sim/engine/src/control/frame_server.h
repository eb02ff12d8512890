// SPDX-License-Identifier: Apache-2.0
// Punt and inject streams for software: one Unix socket per box with whole messages, for one client
// at a time (docs/reference/simulator-sockets.md). The engine sends a punted frame behind its
// header. A client sends the number of a port, or kEncrypt, and a frame for that chip's inject
// stream.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wire/inject_queue.h"
#include "wire/punt_queue.h"
#include "world/world.h"

namespace sallyport::sim {

class FrameServer {
 public:
  // In place of a port's number: the inner chip takes the frame as if from red.
  static constexpr uint8_t kEncrypt = 2;

  // Listens at directory/box<n>.frames for each box. Punted frames wait from now on. Throws
  // std::runtime_error when it cannot.
  FrameServer(World& world, const std::string& directory);
  ~FrameServer();
  FrameServer(const FrameServer&) = delete;
  FrameServer& operator=(const FrameServer&) = delete;

  // When serve() has something to do.
  std::vector<pollfd> descriptors() const;

  // With every node at rest: hands punted frames to clients, takes the frames that they inject
  // while there is room, and lets clients connect and leave. If a box has a client already, the
  // connection of a second one ends at once.
  void serve();

  // Injected frames go to the chips from now on, until the World is unplugged; before and after
  // they wait.
  void plug();

  // In the child of a fork(): the clients stay with the parent.
  void leaveClients();

  // Frames that clients have handed over for an inject stream so far.
  int64_t injected() const;
  // A row a box: {box, client, waiting, delivered, dropped, injected, injecting, malformed}.
  nlohmann::json status() const;

 private:
  struct Box {
    std::string path;
    int listener = -1, client = -1;
    // Of the inner and of the outer chip.
    std::array<PuntQueue, 2> punted;
    std::array<InjectQueue, 2> inject;
    int64_t delivered = 0, injected = 0, malformed = 0;

    bool waiting() const { return !punted[0].empty() || !punted[1].empty(); }
    // The port of a message stands in it, so a chip that has no room holds up both.
    bool room() const { return !inject[0].full() && !inject[1].full(); }
  };

  Node& node(size_t box, size_t port) const;
  static void leave(Box& box);
  static void deliver(Box& box);
  void take(Box& box);
  void admit(Box& box);

  World& world_;
  std::vector<std::unique_ptr<Box>> boxes_;
  // Longer than a frame of any MTU, so that none is cut.
  std::vector<uint8_t> message_ = std::vector<uint8_t>(70'000);
};

}  // namespace sallyport::sim
