// SPDX-License-Identifier: Apache-2.0
#include "model/lane.h"

namespace sallyport::model {
namespace {

// Cycles of LanePorts.wipeCycles.
constexpr uint32_t kWipeCycles = 272;

// Cycles from LaneSequence's choice of a step to its exit from the cipher, without the cipher's own
// latency. They are LaneSequence's register, BlockFetch and the register behind it. The next
// constants count on from there.
constexpr uint32_t kExit = 8;
constexpr uint32_t kToTag = kExit + 7;    // LaneExit, GhashSum
constexpr uint32_t kToHash = kExit + 1;   // LaneExit
constexpr uint32_t kToGrown = kExit + 3;  // LaneExit, TextWriter

// Rows whose marks are in one word (LaneRetire.wordBits).
constexpr uint32_t kRowsOfWord = 64;

}  // namespace

Lane::Lane(const Shape& shape)
    : encrypt_(shape.encrypt),
      slots_(shape.slots[0] + shape.slots[1]),
      intake_(shape, slots_),
      sequence_(shape.encrypt, slots_),
      hash_(slots_),
      retire_(shape, slots_),
      outlet_(shape, slots_, retire_),
      clears_(shape.slots[0] > 0 ? (shape.beats[0] + shape.beats[1]) / kRowsOfWord : 0) {}

// LaneAuth and, from black to red, EspJudge: a decision a cycle, GHASH's first.
int16_t Lane::decide(int16_t hashed, bool wipe) {
  const int16_t decided = decided_.take(now_);
  int16_t tag = tags_.take(now_);
  if (tag < 0 && !hashed_.empty()) tag = hashed_.pop();
  if (tag >= 0) decided_.put(now_ + (encrypt_ ? 1 : 5), tag);
  if (hashed >= 0) hashed_.push(hashed);
  return wipe ? int16_t{-1} : decided;
}

void Lane::schedule(const Op& op) {
  const Suite& suite = slots_[static_cast<size_t>(op.slot)].job.of();
  const uint32_t leaves = now_ + op.cipherLatency;
  if (suite.fast()) {
    if (op.step == kEnd) tags_.put(leaves + kToTag, op.slot);
  } else if (op.step == kHead) {
    hashes_.put(leaves + kToHash, op.slot);
  } else if (encrypt_ && op.step == kText) {
    // The block ends a beat of 64 bytes, or the packet.
    const uint32_t place = (2u * op.index + suite.headBytes() / 8) % 8;
    if (place < 6 && !op.last) return;
    grown_.put(leaves + kToGrown, op.slot);
    grownLast_[(leaves + kToGrown) % grownLast_.size()] = op.last;
  }
}

// In a cycle with `zeroize` or a wipe the lane loses its packets and forgets all about them.
void Lane::wipe(bool wipe) {
  for (Slot& slot : slots_) {
    if (wipe && slot.occupied && slot.complete) slot.done = true;
    if (slot.occupied) slot.killed = true;
  }
  if (!wipe) return;
  tags_.clear();
  hashes_.clear();
  grown_.clear();
  decided_.clear();
  hashed_.clear();
}

void Lane::leave(int16_t slot) {
  if (slot < 0) return;
  Slot& left = slots_[static_cast<size_t>(slot)];
  left.occupied = left.done = false;
}

void Lane::tick(uint32_t grants, bool stop, bool zeroize) {
  const bool wipes = wiping_ > 0;
  const bool wasBusy = busy();
  const LaneOutlet::Moves moves = outlet_.tick(grants, stop || (encrypt_ && (picked_ >> 2 & 1)));
  // The hashes' reads take the port by which beats are written (decrypt) or read (encrypt).
  const bool readsArrived = !encrypt_ && (picked_ & 1);
  const bool clearing = clears_ > 0;
  if (clearing) clears_--;
  const int16_t begins = intake_.begins();
  const bool slow = begins >= 0 && !slots_[static_cast<size_t>(begins)].job.of().fast();
  const LaneRetire::Moves retires = retire_.tick(
      {moves.turn, readsArrived, intake_.crowded(), clearing, slow ? begins : int16_t{-1}, wipes || zeroize});

  const bool erases = wipes || zeroize;
  const HashEngine::Events events{begins >= 0 && !erases,
                                  hashes_.take(now_),
                                  !encrypt_,
                                  grown_.take(now_),
                                  grownLast_[now_ % grownLast_.size()],
                                  wipes};
  const int16_t decided = decide(hash_.tick(now_, events), wipes);

  const Op op = sequence_.tick(now_, wipes ? int16_t{-1} : start_, length_ && !wipes, entered_, wipes);
  if (op.slot >= 0) schedule(op);

  // The beat that was written two cycles ago: a packet begins, or all of it is there.
  const LaneIntake::Told told = intake_.told(now_);
  Slot& in = slots_[static_cast<size_t>(told.slot)];
  const bool lost = in.killed || wipes;
  const bool dead = lost || (told.malformed && !told.opened);
  const bool starts = (told.opens && !lost) || (told.arrived && !told.opened && !dead);
  start_ = starts ? told.slot : int16_t{-1};
  length_ = told.arrived && !dead;
  entered_ = told.entered;

  if (erases) wipe(wipes);
  if (told.arrived) {
    in.complete = true;
    if (told.malformed) in.malformed = true;
    if (dead) in.done = true;
  }
  if (decided >= 0) slots_[static_cast<size_t>(decided)].done = true;
  if (begins >= 0) {
    Slot& slot = slots_[static_cast<size_t>(begins)];
    slot.occupied = true;
    slot.complete = slot.malformed = false;
    slot.killed = erases;
  }
  intake_.tick(now_, readsArrived || retires.soon, moves.release, retires.leaves >= 0);
  released_ = moves.release;
  for (const int16_t slot : left_) leave(slot);
  left_ = {moves.leaves, retires.leaves};
  picked_ = static_cast<uint8_t>((picked_ << 1 | hash_.picked()) & 7);

  if (zeroize)
    wiping_ = kWipeCycles;
  else if (wipes)
    wiping_--;
  wasBusy_ = static_cast<uint8_t>((wasBusy_ << 1 | wasBusy) & 7);
  now_++;
}

}  // namespace sallyport::model
