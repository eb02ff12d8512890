// SPDX-License-Identifier: Apache-2.0
#include "wire/capture.h"

namespace sallyport::sim {

void Capture::add(Tick tick, std::vector<uint8_t> bytes, PcapngWriter::Direction direction, std::string comment) {
  pending_.push({tick, order_++, direction, std::move(bytes), std::move(comment)});
}

void Capture::advance(Tick now) {
  while (!pending_.empty() && pending_.top().tick < now) {
    const Record& record = pending_.top();
    writer_.write(ticksToWholeNs(record.tick), record.bytes.data(), record.bytes.size(), record.direction,
                  record.comment);
    pending_.pop();
  }
}

void Capture::close() {
  advance(kNever);
  writer_.close();
}

}  // namespace sallyport::sim
