// SPDX-License-Identifier: Apache-2.0
#include "wire/inject.h"

#include <algorithm>
#include <cstring>

namespace sallyport::sim {

const MacBeat* InjectSource::offer(Cycle now) {
  if (beats_.empty() && source_ && source_->nextStart() <= now * coreClock.ticksPerCycle) {
    const Frame frame = source_->pop();
    for (size_t from = 0; from < frame.bytes.size(); from += 64) {
      const size_t bytes = std::min<size_t>(64, frame.bytes.size() - from);
      MacBeat beat;
      beat.last = from + bytes == frame.bytes.size();
      beat.bytes = static_cast<uint8_t>(bytes);
      beat.encrypt = frame.encrypt;
      std::memcpy(beat.data.unit.data(), frame.bytes.data() + from, bytes);
      beats_.push_back(beat);
    }
  }
  return beats_.empty() ? nullptr : &beats_.front();
}

}  // namespace sallyport::sim
