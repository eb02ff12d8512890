// SPDX-License-Identifier: Apache-2.0
// A dialogue with the engine, for tests with stand-in chips.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "control/control.h"

namespace sallyport::sim {

// Feeds lines to a fresh world, and then "quit": a run ends early at the end of its input. Returns
// the answers without progress, which depends on the machine's speed.
inline std::vector<nlohmann::json> talk(const WorldOptions& options, const std::vector<std::string>& lines,
                                        const Control::OpenDevice& openDevice = openTap) {
  using nlohmann::json;
  World world(options);
  world.reset();
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  for (const auto& line : lines)
    EXPECT_EQ(write(pipe[1], (line + "\n").data(), line.size() + 1), ssize_t(line.size() + 1));
  const std::string quit = R"({"cmd":"quit","id":"after"})"
                           "\n";
  EXPECT_EQ(write(pipe[1], quit.data(), quit.size()), ssize_t(quit.size()));
  FILE* output = tmpfile();  // not in memory: a branch is another process
  Control(world, nullptr, 1, pipe[0], output, openDevice).run();
  close(pipe[0]);
  close(pipe[1]);
  std::string text(static_cast<size_t>(lseek(fileno(output), 0, SEEK_END)), 0);
  EXPECT_EQ(pread(fileno(output), text.data(), text.size(), 0), ssize_t(text.size()));
  fclose(output);
  std::istringstream stream(text);
  std::vector<json> said;
  for (std::string line; std::getline(stream, line);) {
    json object = json::parse(line);
    if (object["event"] != "progress" && object["id"] != "after") said.push_back(std::move(object));
  }
  return said;
}

inline std::vector<nlohmann::json> talk(int boxes, const std::vector<std::string>& lines, int threads = 1,
                                        const Control::OpenDevice& openDevice = openTap) {
  return talk(WorldOptions{boxes, threads, 30}, lines, openDevice);
}

}  // namespace sallyport::sim
