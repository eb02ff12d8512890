// SPDX-License-Identifier: Apache-2.0
// Bits that flip in a chip's memory.
#include <gtest/gtest.h>

#include "world/world.h"

namespace sallyport::sim {

namespace {

uint32_t readRegister(Node& node, uint16_t address) {
  const auto response = node.accessAlone({false, address, 0});
  EXPECT_TRUE(response);
  return response->data;
}

}  // namespace

TEST(Upsets, ABitFlipsAtItsCycleAlone) {
  World world(WorldOptions{});
  world.reset();
  Node& node = world.node(0, ChipKind::kCrypto);
  const auto memories = node.memories();
  ASSERT_EQ(memories.size(), 1u);
  const ChipMemory& memory = memories.front();
  EXPECT_EQ(memory.name, "registers");
  const Cycle start = world.now();
  node.upsets().add(start + 2 * coreClock.lookahead - 1, memory, 63, 31);
  node.upsets().add(start + 2 * coreClock.lookahead, memory, 63, 0);
  world.runEpoch();
  EXPECT_EQ(readRegister(node, 4 * 63), 0u);
  world.runEpoch();
  EXPECT_EQ(readRegister(node, 4 * 63), 1u << 31);
  world.runEpoch();
  EXPECT_EQ(readRegister(node, 4 * 63), 1u << 31 | 1u);
  for (uint16_t row = 0; row < 63; row++) EXPECT_EQ(readRegister(node, 4 * row), 0u);
}

TEST(Upsets, WhatIsClearedDoesNotFlip) {
  World world(WorldOptions{});
  world.reset();
  Node& node = world.node(0, ChipKind::kOuter);
  node.upsets().add(world.now() + coreClock.lookahead, node.memories().front(), 5, 7);
  node.upsets().clear();
  for (int i = 0; i < 3; i++) world.runEpoch();
  EXPECT_EQ(readRegister(node, 4 * 5), 0u);
}

}  // namespace sallyport::sim
