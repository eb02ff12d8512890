// SPDX-License-Identifier: Apache-2.0
// Models beyond a shell's ports: an Aurora core's user interface, a host behind the PCIe block.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "base/chip_fault.h"
#include "chip/aurora_model.h"
#include "chip/card_host.h"
#include "chip/card_mailbox.h"
#include "chip/pcie_host.h"

namespace sallyport::sim {
namespace {

Word numbered(uint64_t number) {
  Word word;
  for (size_t i = 0; i < word.unit.size(); i++) word.unit[i] = number * 8 + i;
  return word;
}

TEST(AuroraModel, JoinsBeatsToWordsAndPartsThem) {
  AuroraModel out(0), in(0);
  out.channel(true, nullptr);
  in.channel(true, nullptr);
  const Word word = numbered(5);
  for (int half = 0; half < 2; half++) {
    AuroraModel::Beat beat;
    std::copy_n(word.unit.begin() + 4 * half, 4, beat.begin());
    out.edge(&beat);
    EXPECT_EQ(out.departing() != nullptr, half == 1);
  }
  EXPECT_EQ(*out.departing(), word);
  in.channel(true, out.departing());
  out.departed();
  EXPECT_EQ(out.departing(), nullptr);
  const AuroraModel::Beat low = *in.arrival(), high = *in.arrival();
  EXPECT_EQ(low, (AuroraModel::Beat{40, 41, 42, 43}));
  EXPECT_EQ(high, (AuroraModel::Beat{44, 45, 46, 47}));
  EXPECT_EQ(in.arrival(), nullptr);
}

TEST(AuroraModel, PausesAsTheCoreDoes) {
  AuroraModel model(0);
  model.channel(true, nullptr);
  int taken = 0;
  const int clocks = 33 * 4992;
  for (int i = 0; i < clocks; i++) {
    const bool ready = model.ready();
    taken += ready;
    const AuroraModel::Beat beat{};
    model.edge(ready ? &beat : nullptr);
    while (model.departing()) model.departed();
  }
  // 33 periods of compensation, 4992 of the gearbox; in three of every 11 x 4992 clocks both pause.
  EXPECT_EQ(clocks - taken, 33 * 8 + 4992 - 3 * 3);
}

TEST(AuroraModel, HoldsTheSenderBackWhenTheLineDoes) {
  AuroraModel model(0);
  model.channel(true, nullptr);
  int words = 0;
  for (int i = 0; i < 100; i++) {
    const AuroraModel::Beat beat{};
    model.edge(model.ready() ? &beat : nullptr);
  }
  for (; model.departing(); model.departed()) words++;
  EXPECT_EQ(words, 4);
}

TEST(AuroraModel, LosesEverythingWithTheChannel) {
  AuroraModel model(0);
  model.channel(true, nullptr);
  const AuroraModel::Beat beat{1, 2, 3, 4};
  model.edge(&beat);
  const Word word = numbered(1);
  model.channel(true, &word);
  ASSERT_NE(model.arrival(), nullptr);
  model.channel(false, nullptr);
  EXPECT_FALSE(model.ready());
  model.channel(true, nullptr);
  EXPECT_EQ(model.arrival(), nullptr);
  model.edge(&beat);
  // half a word before the channel fell is no half of one behind it
  EXPECT_EQ(model.departing(), nullptr);
}

TEST(PcieHost, WritesAreRequestsOfOneWord) {
  PcieHost host;
  host.start(true, 0x18124, 0xCAFE);
  ASSERT_TRUE(host.valid());
  const PcieWords beat = host.request();
  EXPECT_EQ(beat.word[0], 0x18124u);
  EXPECT_EQ(beat.word[2] & 0x7FF, 1u);
  EXPECT_EQ(beat.word[2] >> 11 & 0xF, 1u);
  EXPECT_EQ(beat.word[4], 0xCAFEu);
  EXPECT_EQ(host.keep(), 0x1F);
  EXPECT_FALSE(host.finish());
  host.taken();
  EXPECT_FALSE(host.valid());
  EXPECT_EQ(host.finish(), 0u);
  EXPECT_TRUE(host.idle());
}

PcieWords completionOf(const PcieHost& host, uint32_t status, uint32_t data) {
  PcieWords completion;
  completion.word[1] = 1 | status << 11 | (host.request().word[2] >> 16) << 16;
  completion.word[2] = host.request().word[3] & 0xFF;
  completion.word[3] = data;
  return completion;
}

TEST(PcieHost, ReadsWaitForTheirCompletion) {
  PcieHost host;
  host.start(false, 0x88, 0);
  EXPECT_EQ(host.keep(), 0x0F);
  host.taken();
  EXPECT_FALSE(host.finish());
  host.completion(completionOf(host, 0, 0x1234));
  EXPECT_EQ(host.finish(), 0x1234u);
  EXPECT_FALSE(host.finish());
}

TEST(PcieHost, RefusesACompletionThatNobodyAskedFor) {
  PcieHost host;
  EXPECT_THROW(host.completion(PcieWords()), ChipFault);
  host.start(false, 0x88, 0);
  host.taken();
  EXPECT_THROW(host.completion(completionOf(host, 1, 0)), ChipFault);
}

// The registers of a mailbox that punts every injected frame.
struct Echo {
  std::deque<uint32_t> words;
  uint32_t bytes = 0;
  bool encrypt = false;
  uint32_t answer(const RegisterRequest& request) {
    if (request.write && request.address == 0x80D0) {
      bytes = request.data & 0x3FFF;
      encrypt = request.data >> 16 & 1;
    }
    if (request.write && request.address == 0x80D4) words.push_back(request.data);
    if (request.write) return 0;
    if (request.address == 0x80DC) return 1u << 16;
    const bool whole = bytes > 0 && words.size() == (bytes + 3) / 4;
    if (request.address == 0x80C0) return whole ? 1u << 31 | 1u << 8 | bytes : 0;
    const uint32_t word = words.front();
    words.pop_front();
    if (words.empty()) bytes = 0;
    return word;
  }
};

TEST(CardMailbox, CarriesFramesBothWays) {
  CardMailbox mailbox;
  Echo registers;
  MacBeat frame;
  frame.data = numbered(3);
  frame.bytes = 61;
  frame.last = true;
  frame.encrypt = true;
  ASSERT_TRUE(mailbox.takes());
  mailbox.inject(frame);
  EXPECT_FALSE(mailbox.takes());
  std::optional<MacBeat> back;
  for (int i = 0; i < 5000 && !back; i++) {
    if (const auto request = mailbox.next()) mailbox.ended(registers.answer(*request));
    back = mailbox.punted();
  }
  ASSERT_TRUE(back);
  EXPECT_TRUE(mailbox.takes());
  EXPECT_TRUE(registers.encrypt);
  EXPECT_EQ(back->bytes, 61);
  EXPECT_TRUE(back->last);
  EXPECT_EQ(std::memcmp(back->data.unit.data(), frame.data.unit.data(), 61), 0);
}

TEST(CardMailbox, LooksNowAndThen) {
  CardMailbox mailbox;
  int looks = 0;
  for (int i = 0; i < 5130; i++)
    if (mailbox.next()) {
      mailbox.ended(0);
      looks++;
    }
  EXPECT_EQ(looks, 10);
}

// The address of the host's next access, or 0 if none comes within a rest of the
// mailbox's software.
uint32_t serve(CardHost& host, ChipInputs& in, ChipOutputs& out) {
  for (int i = 0; i < 600; i++) {
    host.cycle(in, out);
    in.axi.arValid &= !out.axi.arReady;
    if (!host.pcie().valid()) continue;
    const uint32_t address = host.pcie().request().word[0];
    host.pcie().taken();
    host.pcie().completion(completionOf(host.pcie(), 0, 0));
    return address;
  }
  return 0;
}

TEST(CardHost, LeavesTheMailboxToAProgramThatTakesIt) {
  CardHost host(true);
  ChipInputs in;
  ChipOutputs out;
  in.reset = false;
  const auto manager = [&](uint16_t address) {
    in.axi.arValid = in.axi.rReady = true;
    in.axi.address = address;
    uint32_t served = 0;
    while (in.axi.arValid) served = serve(host, in, out);
    EXPECT_EQ(served, address);
  };
  EXPECT_EQ(serve(host, in, out), 0x80C0u);
  manager(0x80BC);  // another register of the shell
  EXPECT_EQ(serve(host, in, out), 0x80C0u);
  EXPECT_TRUE(out.injectReady);
  manager(0x80C4);
  EXPECT_EQ(serve(host, in, out), 0u);
  EXPECT_FALSE(out.injectReady);
  in.reset = true;
  host.cycle(in, out);
  in.reset = false;
  EXPECT_EQ(serve(host, in, out), 0x80C0u);
}

}  // namespace
}  // namespace sallyport::sim
