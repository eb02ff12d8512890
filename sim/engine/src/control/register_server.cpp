// SPDX-License-Identifier: Apache-2.0
#include "control/register_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "control/unix_socket.h"

namespace sallyport::sim {

namespace {

constexpr size_t kRequestBytes = 12;
// So many accesses begin together at most: between two runs they end within what an access
// may take.
constexpr size_t kMostTogether = 256;
constexpr uint8_t kRead = 1, kWrite = 2, kWait = 3, kReadUntil = 4;

uint32_t little32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 | static_cast<uint32_t>(at[2]) << 16 |
         static_cast<uint32_t>(at[3]) << 24;
}

}  // namespace

RegisterServer::RegisterServer(World& world, const std::string& directory) : world_(world) {
  for (int box = 0; box < world.boxes(); box++) {
    paths_.push_back(directory + "/box" + std::to_string(box) + ".sock");
    listeners_.push_back(listenAt(paths_.back(), SOCK_STREAM));
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
  // An access that has begun ends first: the bus would stand half way otherwise.
  const auto dropped = [](const Client& c) { return c.gone && !c.waitsFor; };
  for (auto& client : clients_)
    if (dropped(client)) close(client.fd);
  clients_.erase(std::remove_if(clients_.begin(), clients_.end(), dropped), clients_.end());
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

RegisterServer::Request RegisterServer::next(const Client& client) {
  const uint8_t* at = client.received.data() + client.taken;
  const uint8_t op = at[0], chip = at[1];
  const uint32_t address = little32(at + 4), data = little32(at + 8);
  Request request;
  if (op == kWait)
    request.wait = nanosecondsToCycles(data);
  else if ((op == kRead || op == kWrite || op == kReadUntil) && chip <= 2 && address <= 0xFFFF)
    request = {&world_.node(client.box, static_cast<ChipKind>(chip)),
               {op == kWrite, static_cast<uint16_t>(address), data},
               op == kReadUntil ? data : 0};
  return request;
}

RegisterServer::Request RegisterServer::take(Client& client) {
  const Request request = next(client);
  client.taken += kRequestBytes;
  requests_++;
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

RegisterServer::Accesses RegisterServer::takeAccesses(Client& client, size_t most) {
  Accesses accesses;
  while (hasRequest(client) && accesses.list.size() < most && accesses.until == 0) {
    const Request request = next(client);
    if (!request.node || (accesses.node && request.node != accesses.node)) break;
    take(client);
    accesses.node = request.node;
    accesses.list.push_back(request.access);
    accesses.until = request.until;
  }
  return accesses;
}

bool RegisterServer::serveStill() {
  acceptAndRead();
  bool worked = false;
  for (auto& client : clients_) {
    worked |= client.waitsFor || client.waitsUntil > 0 || hasRequest(client);
    if (client.waitsFor) harvestAlone(client);
    if (client.waitsUntil > 0) {  // a run ended before the wait
      answer(client, 0, 0);
      client.waitsUntil = 0;
    }
    while (hasRequest(client)) {
      const Request request = take(client);
      const auto response = accessAlone(request);
      // No access is under way, so a wait has nothing to wait for.
      if (request.wait >= 0)
        answer(client, 0, 0);
      else
        answer(client, response ? response->status : kNonsense, response ? response->data : 0);
    }
    send(client);
  }
  dropGone();
  return worked;
}

void RegisterServer::harvestAlone(Client& client) {
  Node& node = *std::exchange(client.waitsFor, nullptr);
  const bool answered = node.finishAlone().has_value();
  auto responses =
      answered ? node.registers().responses() : std::vector<RegisterResponse>(client.begun, {kNonsense, 0});
  if (answered && again(client.until, responses.back(), client.reads))
    responses.back() = accessAlone({&node, client.access, client.until}).value_or(RegisterResponse{kNonsense, 0});
  for (const auto& response : responses) answer(client, response.status, response.data);
}

void RegisterServer::serveLive() {
  acceptAndRead();
  // All that has ended before anything begins: a chip has room for the responses of one client.
  for (auto& client : clients_) harvest(client);
  for (auto& client : clients_) {
    begin(client);
    send(client);
  }
  dropGone();
}

void RegisterServer::harvest(Client& client) {
  if (client.waitsFor && !client.waitsFor->registers().busy()) {
    AxiMaster& registers = client.waitsFor->registers();
    const auto responses = registers.responses();
    for (size_t i = 0; i + 1 < responses.size(); i++) answer(client, responses[i].status, responses[i].data);
    if (again(client.until, responses.back(), client.reads++)) {
      registers.start({client.access});
      client.begun = 1;
    } else {
      answer(client, responses.back().status, responses.back().data);
      client.waitsFor = nullptr;
    }
  }
  if (client.waitsUntil > 0 && world_.now() >= client.waitsUntil) {
    answer(client, 0, 0);
    client.waitsUntil = 0;
  }
}

void RegisterServer::begin(Client& client) {
  while (!client.waitsFor && client.waitsUntil == 0 && hasRequest(client)) {
    Node* const node = next(client).node;
    if (node && node->registers().busy()) return;
    const Accesses accesses = takeAccesses(client, kMostTogether);
    if (node) {
      client.waitsFor = node;
      client.begun = accesses.list.size();
      client.access = accesses.list.back();
      client.until = accesses.until;
      client.reads = 1;
      node->registers().start(accesses.list);
      return;
    }
    const Request request = take(client);
    if (request.wait > 0)
      client.waitsUntil = world_.now() + request.wait;
    else
      answer(client, request.wait == 0 ? 0 : kNonsense, 0);
  }
}

bool RegisterServer::needsTime() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const Client& c) { return c.waitsFor || c.waitsUntil > 0 || hasRequest(c); });
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
  for (size_t left = batch(client); left > 0;) {
    Accesses accesses = takeAccesses(client, left);
    if (accesses.node) {
      left -= accesses.list.size();
      const RegisterRequest last = accesses.list.back();
      auto run = [&](std::vector<RegisterRequest> some) {
        accesses.node->registers().start(std::move(some));
        while (accesses.node->registers().busy()) epoch();
        return accesses.node->registers().responses();
      };
      auto responses = run(std::move(accesses.list));
      for (int reads = 1; again(accesses.until, responses.back(), reads); reads++)
        responses.back() = run({last}).back();
      for (const auto& response : responses) answer(client, response.status, response.data);
      continue;
    }
    const Request request = take(client);
    left--;
    for (const Cycle end = world_.now() + request.wait; world_.now() < end;) epoch();
    answer(client, request.wait >= 0 ? 0 : kNonsense, 0);
  }
}

}  // namespace sallyport::sim
