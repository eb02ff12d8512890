// SPDX-License-Identifier: Apache-2.0
// The link model against the figures of Aurora 64B/66B on four lanes at 25.78125 Gb/s.
#include <gtest/gtest.h>

#include "wire/link_model.h"

namespace sallyport::sim {
namespace {

struct Link {
  LinkChannel channel;
  LinkTransmitter tx{&channel, 0};
  LinkReceiver rx{&channel};
  Cycle now = 0;
  std::vector<std::pair<Cycle, Word>> arrived;

  void cycle(const Word* word) {
    if (now % coreClock.lookahead == 0) rx.beginEpoch(now / coreClock.lookahead);
    if (const Word* in = rx.arrival(now)) arrived.emplace_back(now, *in);
    tx.cycle(now, now / coreClock.lookahead, word);
    now++;
  }
};

Word numbered(uint64_t n) {
  Word word;
  word.unit[0] = n;
  word.unit[7] = ~n;
  return word;
}

TEST(Link, RateIsFourLanesLessGearboxAndCompensation) {
  Link link;
  uint64_t sent = 0;
  const Cycle cycles = 3'000'000;  // 10 ms
  while (link.now < cycles) {
    const Word word = numbered(sent);
    const bool ready = link.tx.ready();
    sent += ready;
    link.cycle(ready ? &word : nullptr);
  }
  const double gbps = static_cast<double>(link.tx.words()) * 512 / 0.01 * 1e-9;
  EXPECT_NEAR(gbps, 4 * 24.96, 0.01);
  EXPECT_NEAR(static_cast<double>(link.tx.words()) / cycles, 0.65, 1e-4);
}

TEST(Link, WordsArriveInOrderUnchangedAndNeverBeforeTheLatency) {
  Link link;
  std::vector<Cycle> sentAt;
  for (int i = 0; i < 5000; i++) {
    const Word word = numbered(sentAt.size());
    const bool send = i % 3 != 0 && link.tx.ready();
    if (send) sentAt.push_back(link.now);
    link.cycle(send ? &word : nullptr);
  }
  for (int i = 0; i < 100; i++) link.cycle(nullptr);
  ASSERT_EQ(link.arrived.size(), sentAt.size());
  for (size_t i = 0; i < sentAt.size(); i++) {
    EXPECT_EQ(link.arrived[i].second, numbered(i));
    EXPECT_GT(link.arrived[i].first, sentAt[i] + coreClock.linkLatency);
  }
}

TEST(Link, BitErrorsComeAtTheirRate) {
  Link link;
  link.tx.fault.setBitErrors(1e-4, 7, 0);
  int64_t wrong = 0, words = 0;
  const Word zero{};
  while (link.now < 200'000) link.cycle(link.tx.ready() ? &zero : nullptr);
  for (const auto& [at, word] : link.arrived) {
    words++;
    for (uint64_t unit : word.unit) wrong += __builtin_popcountll(unit);
  }
  EXPECT_NEAR(static_cast<double>(wrong) / (words * 512), 1e-4, 1e-5);
  EXPECT_GT(link.tx.fault.damagedWords(), 0);
}

TEST(Link, NothingPassesWhileDown) {
  Link link;
  link.tx.fault.addDown({1000, 2000});
  const Word word = numbered(1);
  while (link.now < 4000) link.cycle(link.tx.ready() ? &word : nullptr);
  for (const auto& [at, arrivedWord] : link.arrived) EXPECT_TRUE(at < 1000 || at > 2000 + coreClock.linkLatency) << at;
}

}  // namespace
}  // namespace sallyport::sim
