// SPDX-License-Identifier: Apache-2.0
#include "tester/stream_spec.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace sallyport::sim {

IpAddress IpAddress::v4(uint32_t value) {
  IpAddress address;
  for (int i = 0; i < 4; i++) address.bytes[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
  return address;
}

IpAddress IpAddress::plus(uint32_t step) const {
  IpAddress sum = *this;
  uint64_t carried = step;
  for (int i = size() - 1; i >= size() - 4; i--, carried >>= 8) {
    carried += sum.bytes[i];
    sum.bytes[i] = static_cast<uint8_t>(carried);
  }
  return sum;
}

uint32_t StreamSpec::flowOf(uint32_t sequence) const {
  if (flow.count <= 1) return 0;
  return flow.random ? mix64(seed ^ (uint64_t{id} << 48) ^ sequence) % flow.count : sequence % flow.count;
}

std::vector<uint16_t> spreadSizes(const std::vector<std::pair<uint16_t, uint32_t>>& weighted) {
  uint32_t divisor = 0;
  for (const auto& [size, weight] : weighted) divisor = std::gcd(divisor, weight);
  int64_t total = 0;
  for (const auto& [size, weight] : weighted) total += weight / divisor;
  std::vector<int64_t> credit(weighted.size(), 0);
  std::vector<uint16_t> order;
  for (int64_t i = 0; i < total; i++) {
    for (size_t k = 0; k < weighted.size(); k++) credit[k] += weighted[k].second / divisor;
    const auto best = std::max_element(credit.begin(), credit.end()) - credit.begin();
    credit[best] -= total;
    order.push_back(weighted[best].first);
  }
  return order;
}

}  // namespace sallyport::sim
