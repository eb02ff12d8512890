// SPDX-License-Identifier: Apache-2.0
#include "tester/stream_source.h"

#include <algorithm>

#include "tester/test_packet.h"

namespace sallyport::sim {

StreamSender::StreamSender(const StreamSpec* spec, Tick begin)
    : spec_(spec),
      begin_(begin + spec->from_tick),
      end_(spec->to_tick == kNever ? kNever : begin + spec->to_tick),
      due_(spec->loadMicroPercent <= 0 || spec->frames == 0 || begin_ >= end_ ? kNever : begin_) {}

void StreamSender::advance(int64_t frameBytes) {
  // Exact: due = begin + floor(sum of slots * 1e8 / load).
  remainder_ += static_cast<__int128>(slotTicks(frameBytes)) * 100'000'000;
  due_ += static_cast<Tick>(remainder_ / spec_->loadMicroPercent);
  remainder_ %= spec_->loadMicroPercent;
  if (due_ >= end_ || emitted_ == spec_->frames) due_ = kNever;
}

Frame StreamSender::next(Tick start) {
  Frame frame;
  frame.start = start;
  emitted_++;
  frame.badFcs = spec_->badFcsEvery > 0 && emitted_ % spec_->badFcsEvery == 0;
  const auto sequence = static_cast<uint32_t>(starts_.size());
  if (spec_->capture.empty())
    buildPacket(*spec_, sequence, frame.firstBit(), frame.bytes);
  else
    frame.bytes = spec_->capture[sequence % spec_->capture.size()].bytes;
  if (!frame.badFcs) starts_.push_back(start);
  advance(frame.length());
  return frame;
}

StreamSource::StreamSource(const std::vector<const StreamSpec*>& specs, Tick begin) : lineFree_(begin) {
  for (const auto* spec : specs) senders_.emplace_back(spec, begin);
}

StreamSender* StreamSource::first() {
  StreamSender* best = nullptr;
  for (auto& sender : senders_)
    if (sender.due() != kNever && (!best || sender.due() < best->due())) best = &sender;
  return best;
}

Tick StreamSource::nextStart() {
  const StreamSender* sender = first();
  return sender ? std::max(sender->due(), lineFree_) : kNever;
}

Frame StreamSource::pop() {
  StreamSender* sender = first();
  Frame frame = sender->next(std::max(sender->due(), lineFree_));
  lineFree_ = frame.start + slotTicks(frame.length());
  lineBytes_ += frame.length() + kSlotOverhead;
  return frame;
}

}  // namespace sallyport::sim
