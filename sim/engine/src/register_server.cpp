#include "register_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace sallyport::sim {

namespace {

constexpr size_t kRequestBytes = 12;
constexpr uint8_t kRead = 1, kWrite = 2, kWait = 3, kReadUntil = 4;

int listenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error("socket path " + path + " is longer than " + std::to_string(sizeof address.sun_path - 1) +
                             " bytes");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  unlink(path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd, 8) != 0)
    throw std::runtime_error("cannot listen at " + path + ": " + std::strerror(errno));
  return fd;
}

uint32_t little32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 | static_cast<uint32_t>(at[2]) << 16 |
         static_cast<uint32_t>(at[3]) << 24;
}

}  // namespace

RegisterServer::RegisterServer(World& world, const std::string& directory) : world_(world) {
  for (int box = 0; box < world.boxes(); box++) {
    paths_.push_back(directory + "/box" + std::to_string(box) + ".sock");
    listeners_.push_back(listenAt(paths_.back()));
  }
}

RegisterServer::~RegisterServer() {
  for (const auto& client : clients_) close(client.fd);
  for (int fd : listeners_) close(fd);
  for (const auto& path : paths_) unlink(path.c_str());
}

std::vector<pollfd> RegisterServer::descriptors() const {
  std::vector<pollfd> all;
  for (int fd : listeners_) all.push_back({fd, POLLIN, 0});
  for (const auto& client : clients_) all.push_back({client.fd, POLLIN, 0});
  return all;
}

void RegisterServer::acceptAndRead() {
  for (size_t box = 0; box < listeners_.size(); box++) {
    int fd;
    while ((fd = accept4(listeners_[box], nullptr, nullptr, SOCK_CLOEXEC)) >= 0)
      clients_.push_back({fd, static_cast<int>(box)});
  }
  for (auto& client : clients_) {
    client.received.erase(client.received.begin(), client.received.begin() + static_cast<ptrdiff_t>(client.taken));
    client.taken = 0;
    uint8_t chunk[4096];
    ssize_t got;
    while ((got = recv(client.fd, chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
      client.received.insert(client.received.end(), chunk, chunk + got);
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) client.gone = true;
  }
}

void RegisterServer::dropGone() {
  for (auto& client : clients_)
    if (client.gone) close(client.fd);
  clients_.erase(std::remove_if(clients_.begin(), clients_.end(), [](const Client& c) { return c.gone; }),
                 clients_.end());
}

void RegisterServer::leaveClients() {
  for (const auto& client : clients_) close(client.fd);
  clients_.clear();
}

bool RegisterServer::hasRequest(const Client& client) { return client.received.size() - client.taken >= kRequestBytes; }

size_t RegisterServer::batch(const Client& client) {
  if (!hasRequest(client)) return 0;
  const uint8_t* at = client.received.data() + client.taken;
  const size_t count = 1 + at[2] + 256 * at[3];
  return client.received.size() - client.taken >= count * kRequestBytes ? count : 0;
}

RegisterServer::Request RegisterServer::decode(Client& client) {
  const uint8_t* at = client.received.data() + client.taken;
  const uint8_t op = at[0], chip = at[1];
  const uint32_t address = little32(at + 4), data = little32(at + 8);
  client.taken += kRequestBytes;
  Request request;
  if (op == kWait)
    request.wait = nanosecondsToCycles(data);
  else if ((op == kRead || op == kWrite || op == kReadUntil) && chip <= 2 && address <= 0xFFFF)
    request = {&world_.node(client.box, static_cast<ChipKind>(chip)),
               {op == kWrite, static_cast<uint16_t>(address), data},
               op == kReadUntil ? data : 0};
  return request;
}

bool RegisterServer::again(uint32_t until, const RegisterResponse& response, int reads) {
  return response.status == 0 && (response.data & until) != 0 && reads < kMostReads;
}

std::optional<RegisterResponse> RegisterServer::accessAlone(const Request& request) {
  if (!request.node) return std::nullopt;
  auto response = request.node->accessAlone(request.access);
  for (int reads = 1; response && again(request.until, *response, reads); reads++)
    response = request.node->accessAlone(request.access);
  return response;
}

void RegisterServer::answer(Client& client, uint32_t status, uint32_t data) {
  for (const uint32_t word : {status, data})
    for (int i = 0; i < 4; i++) client.answers.push_back(static_cast<uint8_t>(word >> 8 * i));
}

void RegisterServer::send(Client& client) {
  const auto size = static_cast<ssize_t>(client.answers.size());
  if (size > 0 && ::send(client.fd, client.answers.data(), client.answers.size(), MSG_NOSIGNAL) != size)
    client.gone = true;
  client.answers.clear();
}

bool RegisterServer::serveStill() {
  acceptAndRead();
  bool worked = false;
  for (auto& client : clients_) {
    if (client.waitsFor) {
      auto response = client.waitsFor->finishAlone();
      if (response && again(client.until, *response, client.reads))
        response = accessAlone({client.waitsFor, client.access, client.until});
      answer(client, response ? response->status : kNonsense, response ? response->data : 0);
      client.waitsFor = nullptr;
      worked = true;
    }
    if (client.waitsUntil > 0) {  // a run ended before the wait
      answer(client, 0, 0);
      client.waitsUntil = 0;
      worked = true;
    }
    while (hasRequest(client)) {
      const Request request = decode(client);
      const auto response = accessAlone(request);
      // Nothing is under way that a wait could be for.
      if (request.wait >= 0)
        answer(client, 0, 0);
      else
        answer(client, response ? response->status : kNonsense, response ? response->data : 0);
      worked = true;
    }
    send(client);
  }
  dropGone();
  return worked;
}

void RegisterServer::serveLive() {
  acceptAndRead();
  for (auto& client : clients_) {
    if (client.waitsFor && !client.waitsFor->registers().busy()) {
      const RegisterResponse& response = client.waitsFor->registers().responses().back();
      if (again(client.until, response, client.reads++)) {
        client.waitsFor->registers().start({client.access});
        continue;
      }
      answer(client, response.status, response.data);
      client.waitsFor = nullptr;
    }
    if (client.waitsUntil > 0 && world_.now() >= client.waitsUntil) {
      answer(client, 0, 0);
      client.waitsUntil = 0;
    }
    send(client);
    if (client.waitsFor || client.waitsUntil > 0 || !hasRequest(client)) continue;
    const auto chip = client.received[client.taken + 1];
    if (chip <= 2 && world_.node(client.box, static_cast<ChipKind>(chip)).registers().busy()) continue;
    const Request request = decode(client);
    client.waitsFor = request.node;
    client.access = request.access;
    client.until = request.until;
    client.reads = 1;
    if (request.node) {
      request.node->registers().start({request.access});
    } else if (request.wait >= 0) {
      client.waitsUntil = world_.now() + request.wait;
    } else {
      answer(client, kNonsense, 0);
      send(client);
    }
  }
}

bool RegisterServer::serveInStep(const std::function<void()>& epoch) {
  acceptAndRead();
  bool worked = false;
  for (auto& client : clients_)
    for (; batch(client) > 0; worked = true) {
      finishBatch(client, epoch);
      send(client);
    }
  dropGone();
  return worked;
}

void RegisterServer::finishBatch(Client& client, const std::function<void()>& epoch) {
  std::vector<Request> requests(batch(client));
  for (auto& request : requests) request = decode(client);
  for (auto next = requests.begin(); next != requests.end();) {
    if (next->node) {
      // What goes to one chip without anything between goes there back to back.
      Node& node = *next->node;
      std::vector<RegisterRequest> accesses;
      uint32_t until = 0;
      for (; next != requests.end() && next->node == &node && until == 0; ++next) {
        accesses.push_back(next->access);
        until = next->until;
      }
      const RegisterRequest last = accesses.back();
      auto run = [&](std::vector<RegisterRequest> some) {
        node.registers().start(std::move(some));
        while (node.registers().busy()) epoch();
        return node.registers().responses();
      };
      auto responses = run(std::move(accesses));
      for (int reads = 1; again(until, responses.back(), reads); reads++) responses.back() = run({last}).back();
      for (const auto& response : responses) answer(client, response.status, response.data);
      continue;
    }
    for (const Cycle end = world_.now() + next->wait; world_.now() < end;) epoch();
    answer(client, next->wait >= 0 ? 0 : kNonsense, 0);
    ++next;
  }
}

}  // namespace sallyport::sim
