// SPDX-License-Identifier: Apache-2.0
// A finished packet, as it leaves a lane (LaneFinished in LaneOutlet.scala). Here its payload is
// computed.
#pragma once

#include "model/slot.h"

namespace sallyport::model {

struct LanePacket {
  bool fast;
  uint8_t beats;
  Verdict verdict;
  // What leaves; of a packet with a verdict other than `ok`, what came in.
  uint8_t nextHeader;
  uint16_t length;
  std::array<uint32_t, 4> passed;
  std::vector<uint8_t> bytes;

  // Of a slot whose packet is done.
  void finish(const Slot& slot, bool encrypt, bool fastClass);
  // It leaves as an empty beat, with the facts of its job.
  void refuse(Verdict why);

 private:
  uint8_t jobNextHeader_;
  uint16_t jobLength_;
};

}  // namespace sallyport::model
