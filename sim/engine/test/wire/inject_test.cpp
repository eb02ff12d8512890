// SPDX-License-Identifier: Apache-2.0
// Frames of the management CPU reach the chip whole, in order, and each goes where it is to go.
#include "wire/inject.h"

#include <gtest/gtest.h>

#include "wire/inject_queue.h"

namespace sallyport::sim {
namespace {

TEST(Inject, EachBeatSaysWhetherItsFrameGoesByPolicy) {
  InjectQueue queue;
  InjectSource source;
  source.plug(&queue);
  EXPECT_EQ(source.offer(0), nullptr);
  const std::vector<std::pair<size_t, bool>> frames{{60, false}, {65, true}, {128, false}, {129, true}};
  for (const auto& [bytes, encrypt] : frames) queue.push(std::vector<uint8_t>(bytes, encrypt), encrypt);
  for (const auto& [bytes, encrypt] : frames) {
    size_t got = 0;
    for (bool last = false; !last; source.taken()) {
      const MacBeat* beat = source.offer(0);
      ASSERT_NE(beat, nullptr);
      EXPECT_EQ(beat->encrypt, encrypt);
      got += beat->bytes;
      last = beat->last;
    }
    EXPECT_EQ(got, bytes);
  }
  EXPECT_TRUE(source.idle());
}

}  // namespace
}  // namespace sallyport::sim
