// SPDX-License-Identifier: Apache-2.0
#include "control/frame_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "control/unix_socket.h"

namespace sallyport::sim {

using nlohmann::json;

FrameServer::FrameServer(World& world, const std::string& directory) : world_(world) {
  for (int number = 0; number < world.boxes(); number++) {
    boxes_.push_back(std::make_unique<Box>());
    Box& box = *boxes_.back();
    box.path = directory + "/box" + std::to_string(number) + ".frames";
    box.listener = listenAt(box.path, SOCK_SEQPACKET);
  }
  for (size_t box = 0; box < boxes_.size(); box++)
    for (size_t port = 0; port < 2; port++) node(box, port).punt().setQueue(&boxes_[box]->punted[port]);
}

FrameServer::~FrameServer() {
  for (size_t box = 0; box < boxes_.size(); box++) {
    for (size_t port = 0; port < 2; port++) node(box, port).punt().setQueue(nullptr);
    leave(*boxes_[box]);
    close(boxes_[box]->listener);
    unlink(boxes_[box]->path.c_str());
  }
}

Node& FrameServer::node(size_t box, size_t port) const {
  return world_.node(static_cast<int>(box), port == 0 ? ChipKind::kInner : ChipKind::kOuter);
}

std::vector<pollfd> FrameServer::descriptors() const {
  std::vector<pollfd> all;
  for (const auto& box : boxes_) {
    all.push_back({box->listener, POLLIN, 0});
    const int events = (box->room() ? POLLIN : 0) | (box->waiting() ? POLLOUT : 0);
    if (box->client >= 0 && events) all.push_back({box->client, static_cast<short>(events), 0});
  }
  return all;
}

void FrameServer::serve() {
  for (auto& box : boxes_) {
    take(*box);
    admit(*box);
    deliver(*box);
  }
}

void FrameServer::leave(Box& box) {
  if (box.client >= 0) close(box.client);
  box.client = -1;
}

void FrameServer::deliver(Box& box) {
  for (auto& queue : box.punted)
    while (box.client >= 0 && !queue.empty()) {
      const auto& punted = queue.front();
      if (send(box.client, punted.data(), punted.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno != EAGAIN && errno != EINTR) leave(box);
        return;
      }
      box.delivered++;
      queue.pop();
    }
}

void FrameServer::take(Box& box) {
  while (box.client >= 0 && box.room()) {
    const ssize_t got = recv(box.client, message_.data(), message_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return leave(box);
    if (got < 2 || static_cast<size_t>(got) > message_.size() || message_[0] > kEncrypt) {
      box.malformed++;
      continue;
    }
    const bool encrypt = message_[0] == kEncrypt;
    box.inject[encrypt ? 0 : message_[0]].push({message_.begin() + 1, message_.begin() + got}, encrypt);
    box.injected++;
  }
}

void FrameServer::admit(Box& box) {
  int fd;
  while ((fd = accept4(box.listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0) {
    if (box.client < 0) {
      box.client = fd;
      take(box);
    } else {
      close(fd);
    }
  }
}

void FrameServer::plug() {
  for (size_t box = 0; box < boxes_.size(); box++)
    for (size_t port = 0; port < 2; port++) node(box, port).inject().plug(&boxes_[box]->inject[port]);
}

void FrameServer::leaveClients() {
  for (auto& box : boxes_) leave(*box);
}

int64_t FrameServer::injected() const {
  int64_t all = 0;
  for (const auto& box : boxes_) all += box->injected;
  return all;
}

json FrameServer::status() const {
  json rows = json::array();
  for (size_t number = 0; number < boxes_.size(); number++) {
    const Box& box = *boxes_[number];
    rows.push_back({{"box", number},
                    {"client", box.client >= 0},
                    {"waiting", box.punted[0].size() + box.punted[1].size()},
                    {"delivered", box.delivered},
                    {"dropped", box.punted[0].dropped() + box.punted[1].dropped()},
                    {"injected", box.injected},
                    {"injecting", box.inject[0].size() + box.inject[1].size()},
                    {"malformed", box.malformed}});
  }
  return rows;
}

}  // namespace sallyport::sim
