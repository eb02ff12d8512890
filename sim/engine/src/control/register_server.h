// SPDX-License-Identifier: Apache-2.0
// Register access from outside: a Unix stream socket a box, with the request and response of
// docs/reference/simulator-sockets.md.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "world/world.h"

namespace sallyport::sim {

class RegisterServer {
 public:
  static constexpr uint32_t kNonsense = 0xFFFFFFFF;
  // A read that waits for bits to fall is answered after so many reads in any case.
  static constexpr int kMostReads = 100'000;

  // Listens at directory/box<n>.sock for each box. Throws std::runtime_error when it cannot.
  RegisterServer(World& world, const std::string& directory);
  ~RegisterServer();
  RegisterServer(const RegisterServer&) = delete;
  RegisterServer& operator=(const RegisterServer&) = delete;

  // What to wait for while nothing else is to be done.
  std::vector<pollfd> descriptors() const;

  // In the child of a fork(): clients that are connected stay with the parent, new ones come here.
  void leaveClients();

  // Between runs: answers all requests that are there, the world standing still. False if there was
  // nothing to do.
  bool serveStill();
  // Between two epochs of a run: begins each client's next accesses, as many as go to one chip back
  // to back, and answers those that have ended.
  void serveLive();
  // Whether serveLive() has begun or found something that does not end without time.
  bool needsTime() const;
  // How many requests were taken so far.
  int64_t requests() const { return requests_; }
  // Inside a run that waits for software: answers all batches that have come whole. `epoch` lets
  // time pass for as long as their accesses and waits take. So the simulation depends on the
  // requests alone, never on the time at which they come. False if there was nothing to do.
  bool serveInStep(const std::function<void()>& epoch);

 private:
  struct Client {
    int fd;
    int box;
    std::vector<uint8_t> received{};
    size_t taken = 0;                // of them
    std::vector<uint8_t> answers{};  // that are still to be sent, all at once
    Node* waitsFor = nullptr;        // accesses have begun there
    size_t begun = 0;                // so many
    RegisterRequest access{};        // the last of them
    uint32_t until = 0;              // it is repeated while it reads one of these bits as 1
    int reads = 0;                   // so often already
    Cycle waitsUntil = 0;            // a wait ends then
    bool gone = false;
  };
  struct Request {
    Node* node = nullptr;  // of a register access
    RegisterRequest access;
    uint32_t until = 0;  // a read is repeated while one of these bits is 1
    Cycle wait = -1;     // of a wait; a request that has neither makes no sense
  };

  // Accesses of one chip, back to back; `until` belongs to the last one.
  struct Accesses {
    Node* node = nullptr;
    std::vector<RegisterRequest> list;
    uint32_t until = 0;
  };

  void acceptAndRead();
  void dropGone();
  static bool hasRequest(const Client& client);
  // How many requests the client has sent ahead with its next one, that one included; 0 if they are
  // not all here.
  static size_t batch(const Client& client);
  // What the client's next request says; take() goes on to the one behind it.
  Request next(const Client& client);
  Request take(Client& client);
  // Whether a read that waits for bits has to be repeated.
  static bool again(uint32_t until, const RegisterResponse& response, int reads);
  static std::optional<RegisterResponse> accessAlone(const Request& request);
  // Takes what the client asks of one chip without anything between, at most so many; nothing if
  // its next request is no access.
  Accesses takeAccesses(Client& client, size_t most);
  // For a client that waits: answers the accesses that have ended.
  void harvest(Client& client);
  // The same while the world stands still: it ends there and then.
  void harvestAlone(Client& client);
  // For a client that does not wait: begins its next request.
  void begin(Client& client);
  void finishBatch(Client& client, const std::function<void()>& epoch);
  static void answer(Client& client, uint32_t status, uint32_t data);
  static void send(Client& client);

  World& world_;
  std::vector<std::string> paths_;
  std::vector<int> listeners_;
  std::vector<Client> clients_;
  int64_t requests_ = 0;
};

}  // namespace sallyport::sim
