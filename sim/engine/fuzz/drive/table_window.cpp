// SPDX-License-Identifier: Apache-2.0
#include "fuzz/drive/table_window.h"

#include <stdexcept>

#include "fuzz/drive/common_registers.h"

namespace sallyport::fuzz {
namespace {

// A table takes a command or refuses it within this (docs/reference/registers.md), and some cycles.
constexpr int64_t kTableCycles = (1 << 18) + 2000;

}  // namespace

void TableWindow::whenFree(int64_t since, std::function<void()> then) {
  software_.askNext({{false, kStatus, 0}}, [=](const Software::Answers& answers) {
    if ((answers[0].data & 1) == 0) return then();
    if (cycle_ - since > kTableCycles) throw std::runtime_error("HANG: a table is busy without end");
    whenFree(since, then);
  });
}

void TableWindow::write(unsigned table, unsigned index, const Row& row, std::function<void()> first,
                        std::function<void()> then) {
  std::vector<sim::RegisterRequest> requests{{true, kSelect, table}, {true, kIndex, index}};
  for (uint16_t i = 0; i < 32; i++) requests.push_back({true, static_cast<uint16_t>(kTableData + 4 * i), row[i]});
  requests.push_back({true, kCommand, kWriteCommand});
  software_.ask({{false, kStatus, 0}}, [=](const Software::Answers&) {
    whenFree(cycle_, [=] {
      if (first) first();
      software_.askNext(requests, [=](const Software::Answers&) {
        whenFree(cycle_, [=] {
          if (then) then();
        });
      });
    });
  });
}

}  // namespace sallyport::fuzz
