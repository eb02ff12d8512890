// SPDX-License-Identifier: Apache-2.0
// A Verilated chip with software and the far end of each of its links. It is never reset but at
// its start.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "chip/chip.h"
#include "chip/noise_chip.h"
#include "fuzz/drive/software.h"
#include "fuzz/drive/table_window.h"
#include "fuzz/link/receiver.h"
#include "fuzz/link/sender.h"

namespace sallyport::fuzz {

class Bench {
 public:
  virtual ~Bench() = default;
  int64_t cycles() const { return cycle_; }
  int64_t transactions() const { return software_.transactions(); }

 protected:
  // Beats that a chip's link buffers, and the far end's credits.
  static constexpr unsigned kCapacity = 512;
  // A chip that has been left alone has its links and no packet left by then.
  static constexpr int64_t kCalm = 400'000;

  // The far end of a link.
  struct End {
    End(bool sequenceFromChip, bool sequenceToChip, uint64_t seed)
        : receiver(sequenceFromChip, seed), sender(receiver, kCapacity, sequenceToChip, seed) {}
    LinkReceiver receiver;
    LinkSender sender;
    int64_t downUntil = 0, stalledUntil = 0;
  };

  Bench(std::unique_ptr<sim::Chip> chip, uint64_t seed) : chip_(std::move(chip)), random_(seed, 1) {}

  // Holds reset for some cycles, and waits until the chip is ready. The ends are complete.
  void start();
  // Ports beside links and registers: before the chip's outputs settle, and behind that.
  virtual void drive() {}
  virtual void observe() {}
  // A word leaves by link `i`.
  virtual void sent(int, const sim::Word&) {}
  // Nothing is under way at these ports.
  virtual bool atRest() { return true; }
  virtual int64_t arrived();

  void cycle();
  // Runs until `done`, or throws std::runtime_error after `most` cycles.
  void until(const std::function<bool()>& done, int64_t most, const char* what);
  bool settled();
  // Both links are locked, and nothing has come for `silence` cycles.
  void settle(int64_t silence);
  // Chances of each end for a hostile part, and none.
  void drawHostility(bool keepsTypes);
  void endHostility();
  // A link goes down or takes no word, for a while.
  void breakLink(End& end);

  std::unique_ptr<sim::Chip> chip_;
  sim::Random random_;
  sim::NoiseChip noise_;
  std::vector<std::unique_ptr<End>> ends_;
  int64_t cycle_ = 0;
  Software software_;
  TableWindow window_{software_, cycle_};
};

}  // namespace sallyport::fuzz
