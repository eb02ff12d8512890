// SPDX-License-Identifier: Apache-2.0
#include "model/lane_packet.h"

namespace sallyport::model {

void LanePacket::refuse(Verdict why) {
  verdict = why;
  nextHeader = jobNextHeader_;
  length = jobLength_;
  bytes.assign(1, 0);
}

void LanePacket::finish(const Slot& slot, bool encrypt, bool fastClass) {
  fast = fastClass;
  beats = slot.beats;
  passed = slot.job.passed;
  jobLength_ = slot.job.length;
  nextHeader = jobNextHeader_ = slot.job.nextHeader;
  verdict = slot.killed ? Verdict::kZeroized : slot.malformed ? Verdict::kTruncated : Verdict::kOk;
  if (verdict == Verdict::kOk) {
    if (encrypt) {
      seal(slot.job, slot.bytes, bytes);
    } else {
      const Opened opened = open(slot.job, slot.bytes, bytes);
      verdict = opened.verdict;
      nextHeader = opened.nextHeader;
    }
  }
  if (verdict == Verdict::kOk)
    length = static_cast<uint16_t>(bytes.size());
  else
    refuse(verdict);
}

}  // namespace sallyport::model
