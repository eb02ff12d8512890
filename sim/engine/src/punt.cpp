#include "punt.h"

#include <algorithm>

namespace sallyport::sim {

const char* puntReasonName(uint8_t reason) {
  static constexpr const char* names[kPuntReasons] = {
      "none", "arp", "ipv6", "vlan", "fragment", "ike", "icmp", "other", "policy", "extension_headers", "mtu"};
  return reason < kPuntReasons ? names[reason] : "unknown";
}

void PuntCollector::push(const MacBeat& beat, uint8_t reason, Cycle now) {
  const auto* data = reinterpret_cast<const uint8_t*>(beat.data.unit.data());
  partial_.insert(partial_.end(), data, data + std::min<int>(beat.bytes, 64));
  if (!beat.last) return;
  frames_[std::min<int>(reason, kPuntReasons)]++;
  if (capture_)
    capture_->add(now * kTicksPerCycle, partial_, PcapngWriter::Direction::kUnknown,
                  std::string("punt: ") + puntReasonName(reason) + (beat.error ? ", error" : ""));
  partial_.clear();
}

}  // namespace sallyport::sim
