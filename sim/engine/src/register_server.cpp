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

bool RegisterServer::hasRequest(const Client& client) { return client.received.size() - client.taken >= kRequestBytes; }

Node* RegisterServer::decode(Client& client, RegisterRequest& request) {
  const uint8_t* at = client.received.data() + client.taken;
  const uint8_t op = at[0], chip = at[1];
  const uint32_t address = little32(at + 4);
  request = {op == 2, static_cast<uint16_t>(address), little32(at + 8)};
  client.taken += kRequestBytes;
  if (op < 1 || op > 2 || chip > 2 || address > 0xFFFF) return nullptr;
  return &world_.node(client.box, static_cast<ChipKind>(chip));
}

void RegisterServer::answer(Client& client, uint32_t status, uint32_t data) {
  uint8_t response[8];
  for (int i = 0; i < 4; i++) {
    response[i] = static_cast<uint8_t>(status >> 8 * i);
    response[4 + i] = static_cast<uint8_t>(data >> 8 * i);
  }
  if (send(client.fd, response, sizeof response, MSG_NOSIGNAL) != sizeof response) client.gone = true;
}

bool RegisterServer::serveStill() {
  acceptAndRead();
  bool worked = false;
  for (auto& client : clients_) {
    if (client.waitsFor) {
      const auto response = client.waitsFor->finishAlone();
      answer(client, response ? response->status : kNonsense, response ? response->data : 0);
      client.waitsFor = nullptr;
      worked = true;
    }
    while (hasRequest(client)) {
      RegisterRequest request;
      Node* node = decode(client, request);
      const auto response = node ? node->accessAlone(request) : std::nullopt;
      answer(client, response ? response->status : kNonsense, response ? response->data : 0);
      worked = true;
    }
    if (client.gone) close(client.fd);
  }
  clients_.erase(std::remove_if(clients_.begin(), clients_.end(), [](const Client& c) { return c.gone; }),
                 clients_.end());
  return worked;
}

void RegisterServer::serveLive() {
  acceptAndRead();
  for (auto& client : clients_) {
    if (client.waitsFor && !client.waitsFor->registers().busy()) {
      answer(client, client.waitsFor->registers().response().status, client.waitsFor->registers().response().data);
      client.waitsFor = nullptr;
    }
    if (client.waitsFor || !hasRequest(client)) continue;
    const auto chip = client.received[client.taken + 1];
    if (chip <= 2 && world_.node(client.box, static_cast<ChipKind>(chip)).registers().busy()) continue;
    RegisterRequest request;
    client.waitsFor = decode(client, request);
    if (client.waitsFor)
      client.waitsFor->registers().start(request);
    else
      answer(client, kNonsense, 0);
  }
}

}  // namespace sallyport::sim
