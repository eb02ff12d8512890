// SPDX-License-Identifier: Apache-2.0
// What the SystemVerilog of LaneModel.scala calls. A vector is a row of 32-bit words, the lowest
// first, which is the byte string itself (bytes.h).
#include <memory>

#include "model/bytes.h"
#include "model/lane.h"

using sallyport::model::Job;
using sallyport::model::Lane;
using sallyport::model::OutBeat;
using sallyport::model::Shape;

namespace {

// A lane is built anew by a reset.
struct Model {
  Shape shape;
  std::unique_ptr<Lane> lane;
};

Lane& of(void* model) { return *static_cast<Model*>(model)->lane; }

// The bits of the model's `state`.
uint32_t state(const Lane& lane) {
  const auto& released = lane.released();
  return static_cast<uint32_t>(lane.ready() | lane.done(0) << 1 | lane.done(1) << 2 | lane.busy() << 3 |
                               lane.valid() << 4 | lane.retired() << 5 | released.valid << 6 | released.fast << 7 |
                               released.beats << 8 | lane.awake() << 16 | lane.inside() << 17);
}

}  // namespace

extern "C" {

void* sallyport_lane_new(uint32_t encrypt, uint32_t slowSlots, uint32_t fastSlots, uint32_t slowBeats,
                         uint32_t fastBeats) {
  const Shape shape{encrypt != 0, {slowSlots, fastSlots}, {slowBeats, fastBeats}};
  return new Model{shape, std::make_unique<Lane>(shape)};
}

void sallyport_lane_free(void* model) { delete static_cast<Model*>(model); }

uint32_t sallyport_lane_reset(void* model) {
  auto* const made = static_cast<Model*>(model);
  made->lane = std::make_unique<Lane>(made->shape);
  return state(*made->lane);
}

void sallyport_lane_begin(void* model, uint8_t suite, uint8_t icv, uint8_t esn, uint8_t nextHeader, const uint32_t* key,
                          const uint32_t* auth, uint32_t salt, uint32_t spi, uint64_t sequence, uint64_t iv,
                          uint16_t length, const uint32_t* passed) {
  Job job{suite, icv, esn != 0, nextHeader, {}, {}, {}, sequence, iv, spi, length, {}};
  std::memcpy(job.key.data(), key, job.key.size());
  std::memcpy(job.auth.data(), auth, job.auth.size());
  std::memcpy(job.salt.data(), &salt, job.salt.size());
  std::memcpy(job.passed.data(), passed, sizeof job.passed);
  of(model).begin(job);
}

void sallyport_lane_beat(void* model, const uint32_t* data, uint8_t bytes, uint8_t last, uint8_t error) {
  of(model).beat(reinterpret_cast<const uint8_t*>(data), bytes, last != 0, error != 0);
}

uint32_t sallyport_lane_tick(void* model, uint32_t inputs) {
  Lane& lane = of(model);
  lane.tick(inputs & 3, (inputs >> 2 & 1) != 0, (inputs >> 3 & 1) != 0);
  return state(lane);
}

void sallyport_lane_out(void* model, uint32_t* data, uint8_t* bytes, uint8_t* last, uint8_t* verdict,
                        uint8_t* nextHeader, uint16_t* length, uint32_t* passed) {
  const OutBeat& beat = of(model).out();
  std::memcpy(data, beat.data.data(), beat.data.size());
  *bytes = beat.bytes;
  *last = beat.last;
  *verdict = static_cast<uint8_t>(beat.verdict);
  *nextHeader = beat.nextHeader;
  *length = beat.length;
  std::memcpy(passed, beat.passed.data(), sizeof beat.passed);
}
}
