// Register access from outside: a Unix stream socket a box, with the request and response of docs/interfaces.md,
// section 5.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "world.h"

namespace sallyport::sim {

class RegisterServer {
 public:
  static constexpr uint32_t kNonsense = 0xFFFFFFFF;

  // Listens at directory/box<n>.sock for each box. Throws std::runtime_error when it cannot.
  RegisterServer(World& world, const std::string& directory);
  ~RegisterServer();
  RegisterServer(const RegisterServer&) = delete;
  RegisterServer& operator=(const RegisterServer&) = delete;

  // What to wait for while nothing else is to be done.
  std::vector<pollfd> descriptors() const;

  // Between runs: answers all requests that are there, the world standing still. False if there was nothing to do.
  bool serveStill();
  // Between two epochs of a run: begins at most one access a client and answers those that have ended.
  void serveLive();

 private:
  struct Client {
    int fd;
    int box;
    std::vector<uint8_t> received{};
    size_t taken = 0;          // of them
    Node* waitsFor = nullptr;  // an access has begun there
    bool gone = false;
  };

  void acceptAndRead();
  static bool hasRequest(const Client& client);
  Node* decode(Client& client, RegisterRequest& request);
  static void answer(Client& client, uint32_t status, uint32_t data);

  World& world_;
  std::vector<std::string> paths_;
  std::vector<int> listeners_;
  std::vector<Client> clients_;
};

}  // namespace sallyport::sim
