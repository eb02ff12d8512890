// SPDX-License-Identifier: Apache-2.0
#include "tester/stream_receiver.h"

namespace sallyport::sim {

void StreamArrivals::arrive(const Signature& signature, const Frame& frame) {
  if (!isIntact(*spec, signature, frame.bytes)) {
    corrupted++;
    return;
  }
  const uint32_t sequence = signature.sequence;
  if (seen.size() <= sequence) seen.resize(sequence + 1, false);
  if (seen[sequence]) {
    duplicated++;
    return;
  }
  seen[sequence] = true;
  if (sequence < nextExpected)
    reordered++;
  else
    nextExpected = sequence + 1;
  samples.push_back({sequence, frame.firstBit()});
}

void EspArrivals::arrive(const EspPacket& esp, const Frame& frame) {
  const auto [entry, isNew] = last.try_emplace(esp.spi, esp.sequence);
  if (!isNew) {
    if (esp.sequence <= entry->second)
      outOfOrder++;
    else
      entry->second = esp.sequence;
  }
  samples.push_back({frame.firstBit(), static_cast<int32_t>(frame.length())});
}

StreamReceiver::StreamReceiver(const std::vector<const StreamSpec*>& specs, PortName port) : port_(std::move(port)) {
  for (const auto* spec : specs)
    if (spec->to == port_ && spec->expect == StreamSpec::Expect::kSignature) streams_[spec->id].spec = spec;
}

const StreamArrivals* StreamReceiver::stream(uint16_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

void StreamReceiver::receive(Frame frame, int64_t) {
  frames_++;
  if (frame.badFcs) {
    badFcs_++;
    return;
  }
  Signature signature;
  EspPacket esp;
  if (readSignature(frame.bytes, signature)) {
    const auto found = streams_.find(signature.stream);
    if (found == streams_.end())
      misdirected_++;
    else
      found->second.arrive(signature, frame);
  } else if (readEsp(frame.bytes, esp)) {
    esp_.arrive(esp, frame);
  } else {
    foreign_++;
  }
}

}  // namespace sallyport::sim
