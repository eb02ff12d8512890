// SPDX-License-Identifier: Apache-2.0
#include "control/captures.h"

#include <memory>

#include "control/requests.h"

namespace sallyport::sim {

namespace {

Node& puntNode(const World& world, const std::string& name) {
  for (const auto& node : world.nodes())
    if (node->port() && node->name() + ".punt" == name) return *node;
  throw std::invalid_argument("there is no punt stream \"" + name +
                              "\"; they are box0.inner.punt, box0.outer.punt, ...");
}

}  // namespace

void setCapture(World& world, Fields& fields) {
  const auto port = fields.need<std::string>("port");
  const bool punt = port.size() > 5 && port.compare(port.size() - 5, 5, ".punt") == 0;
  const auto direction = fields.get<std::string>("direction", "both");
  if (direction != "in" && direction != "out" && direction != "both")
    throw std::invalid_argument("\"direction\" must be in, out or both, not " + direction);
  Node& node = punt ? puntNode(world, port) : world.portNode(parsePort(port));
  std::unique_ptr<Capture> capture;
  if (fields.has("file"))
    capture = std::make_unique<Capture>(fields.need<std::string>("file"), port,
                                        Capture::Choice{direction != "out", direction != "in"});
  fields.end();
  Capture* old = punt ? node.punt().capture() : node.port()->capture.get();
  if (old) old->close();
  if (punt)
    node.punt().setCapture(std::move(capture));
  else
    node.port()->capture = std::move(capture);
}

bool capturing(const World& world) {
  for (const auto& node : world.nodes())
    if (node->port() && (node->port()->capture || node->punt().capture())) return true;
  return false;
}

void closeCaptures(const World& world) {
  for (const auto& node : world.nodes()) {
    if (!node->port()) continue;
    if (node->port()->capture) node->port()->capture->close();
    node->port()->capture.reset();
    if (node->punt().capture()) node->punt().capture()->close();
    node->punt().setCapture(nullptr);
  }
}

}  // namespace sallyport::sim
