// SPDX-License-Identifier: Apache-2.0
#include "model/hash_engine.h"

namespace sallyport::model {
namespace {

constexpr uint32_t kTurn = 2;  // phase in which a packet is picked
// cycles from there to `returned`, and to `done`, beside the pipe's own
constexpr uint32_t kForeseen = 3;
constexpr uint32_t kDone = 7;

}  // namespace

void HashEngine::begin(Slot& slot, bool complete) {
  const Suite& suite = slot.job.of();
  const uint32_t words = (slot.text + suite.headBytes()) / 4;
  slot.lastUnit = static_cast<uint16_t>(suite.auth == Auth::kPoly1305 ? (words + 3) / 4 / 4
                                                                      : (words + (slot.job.esn ? 3 : 2)) / 16);
  slot.waiting = !complete;
  slot.whole = complete;
  slot.fresh = true;
  packets_++;
}

void HashEngine::pick(uint32_t now) {
  for (auto& queue : queues_) {
    if (queue.empty()) continue;
    const Ready ready = queue.pop();
    Slot& slot = slots_[static_cast<size_t>(ready.slot)];
    const Suite& suite = slot.job.of();
    if (ready.first) {
      slot.unit = 0;
      slot.outer = false;
    }
    picked_ = !slot.outer;
    const bool ends = slot.outer || slot.unit == slot.lastUnit;
    if (ends && (slot.outer || suite.auth == Auth::kPoly1305)) {
      done_.put(now + kDone + suite.hashLatency(), ready.slot);
    } else {
      slot.unit++;
      slot.outer = ends;
      returned_.put(now + kForeseen + suite.hashLatency(), ready.slot);
    }
    return;
  }
}

void HashEngine::comesBack(int16_t at, int16_t grown) {
  Slot& slot = slots_[static_cast<size_t>(at)];
  if (grown == at || slot.whole || slot.announced != slot.unit)
    queues_[0].push({at, false});
  else
    slot.waiting = true;
}

void HashEngine::grow(int16_t at, bool last) {
  Slot& slot = slots_[static_cast<size_t>(at)];
  if (slot.waiting) queues_[1].push({at, slot.fresh});
  slot.announced = static_cast<uint16_t>((slot.fresh ? 0 : slot.announced) + 1);
  slot.waiting = slot.fresh = false;
  if (last) slot.whole = true;
}

int16_t HashEngine::tick(uint32_t now, const Events& events) {
  picked_ = false;
  const bool runs = packets_ > 0 || events.load || events.start >= 0 || events.grown >= 0 || events.wipe;
  if (!runs) return -1;
  const uint32_t phase = phase_;
  phase_ = (phase_ + 1) & 3;
  if (events.wipe) {
    packets_ = 0;
    for (auto& queue : queues_) queue.clear();
    returned_.clear();
    done_.clear();
    return -1;
  }
  if (packets_ == 0 && events.start < 0) return -1;
  if (phase == kTurn) pick(now);
  const int16_t done = done_.take(now);
  if (done >= 0) packets_--;
  if (const int16_t back = returned_.take(now); back >= 0) comesBack(back, events.grown);
  if (events.grown >= 0) grow(events.grown, events.last);
  if (events.start >= 0) {
    begin(slots_[static_cast<size_t>(events.start)], events.complete);
    if (events.complete) queues_[2].push({events.start, true});
  }
  return done;
}

}  // namespace sallyport::model
