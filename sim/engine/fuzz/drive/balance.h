// SPDX-License-Identifier: Apache-2.0
// Reads all counters of a chip and checks that each path balances (docs/reference/registers.md).
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "fuzz/drive/software.h"
#include "fuzz/registers/counters.h"

namespace sallyport::fuzz {

using Counts = std::map<std::string, int64_t>;

// In the software's order of accesses; throws std::runtime_error when a path does not balance.
template <class Counters>
void readBalance(Software& software, const Counters& counters, std::function<void(const Counts&)> then) {
  constexpr uint16_t kCounter = 0x0C0, kLow = 0x0C4, kHigh = 0x0C8;
  std::vector<sim::RegisterRequest> requests;
  for (uint32_t i = 0; i < counters.size(); i++) {
    requests.push_back({true, kCounter, i});
    requests.push_back({false, kLow, 0});
    requests.push_back({false, kHigh, 0});
  }
  software.ask(std::move(requests), [&counters, then](const Software::Answers& answers) {
    Counts counts;
    std::map<std::string, int64_t> surplus;
    for (size_t i = 0; i < counters.size(); i++) {
      const auto& [name, path, kind] = counters[i];
      const auto value = static_cast<int64_t>(uint64_t{answers[3 * i + 2].data} << 32 | answers[3 * i + 1].data);
      counts[name] = value;
      const std::string k(kind);
      if (k == "received" || k == "injected" || k == "split") surplus[path] += value;
      if (k == "sent" || k == "punted" || k == "drop" || k == "merged" || k == "held") surplus[path] -= value;
    }
    for (const auto& [path, value] : surplus)
      if (value != 0)
        throw std::runtime_error("BALANCE: path " + path + " has " + std::to_string(value) +
                                 " packets that it does not count");
    then(counts);
  });
}

}  // namespace sallyport::fuzz
