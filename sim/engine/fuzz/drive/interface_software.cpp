// SPDX-License-Identifier: Apache-2.0
// What software does to a fuzzed interface chip.
#include "fuzz/drive/common_registers.h"
#include "fuzz/drive/interface_fuzz.h"
#include "fuzz/registers/tables.h"

namespace sallyport::fuzz {
namespace {

constexpr uint32_t kRxTxEnable = 3, kBump = 8;
constexpr uint16_t kDispatchControl = 0x380;
constexpr uint32_t kDispatchMode = 3;
constexpr uint32_t kBypass = 1, kDiscard = 0;
static_assert(inner::kRule == static_cast<unsigned>(outer::kRule));

}  // namespace

// Every register and every row that a round may have changed.
void InterfaceFuzz::configure(bool bypass) {
  std::vector<sim::RegisterRequest> requests;
  for (size_t i = 0; i < kind_.controlCount; i++)
    requests.push_back({true, kind_.controls[i].address, kind_.controls[i].reset});
  // Fragments are given up and the CPU's frames leave soon: none is held when a round ends.
  requests.push_back({true, kind_.reassemblyTimeout, 1});
  for (const uint16_t limit : kind_.injectLimits) requests.push_back({true, limit, ~0u});
  for (const sim::RegisterRequest& write : furtherWrites()) requests.push_back(write);
  software_.ask(std::move(requests));
  for (unsigned table = 0; table < kind_.tables; table++)
    for (unsigned index = 0; index < kRows; index++)
      window_.write(table, placeOf(table, index), index < kSas ? goodRow(table, index) : Row{});
  if (bypass) {
    Row row = goodRow(inner::kRule, 0);
    put(row, rule_row::kValid, 1);
    put(row, rule_row::kAction, kBypass);
    window_.write(inner::kRule, 0, row);
  }
  software_.ask({{true, kControl, kRxTxEnable}});
  number_ = {};
}

// Any bits, or a good row with a few of them changed, or the row of another place.
void InterfaceFuzz::anyRow() {
  const auto table = static_cast<unsigned>(random_.chance(0.2) ? inner::kRule : random_.below(kind_.tables));
  const auto index = static_cast<unsigned>(random_.below(kRows));
  if (steady_ && kind_.windows.count(table)) return;
  Row row = goodRow(table, static_cast<unsigned>(random_.below(kSas)));
  switch (random_.below(3)) {
    case 0:
      for (auto& word : row) word = static_cast<uint32_t>(random_.next());
      break;
    case 1:
      for (uint64_t flips = 1 + random_.below(4); flips > 0; flips--) row[random_.below(16)] ^= 1u << random_.below(32);
      break;
    default:
      break;
  }
  if (kind_.decisions.count(table)) {
    const Field action = rule_row::kAction;
    if (mayBypass_ && random_.chance(0.3)) put(row, action, kBypass);
    if (!mayBypass_ && field(row, action.lsb, action.width) == kBypass) put(row, action, kDiscard);
  }
  restrain(table, row);
  window_.write(table, random_.chance(0.9) ? placeOf(table, index) : 1u << 23 | index, row);
}

void InterfaceFuzz::anyAccess() {
  if (!software_.idle()) return;
  switch (random_.below(6)) {
    case 0:
    case 1: {
      std::vector<sim::RegisterRequest> reads;
      for (uint64_t n = 1 + random_.below(8); n > 0; n--)
        reads.push_back({false, static_cast<uint16_t>(random_.below(4096)), 0});
      software_.ask(std::move(reads));
      break;
    }
    case 2:
    case 3:
      anyRow();
      break;
    default: {
      sim::RegisterRequest request{true, static_cast<uint16_t>(random_.below(1024) * 4),
                                   static_cast<uint32_t>(random_.next())};
      if (random_.chance(0.5)) request.address = kind_.controls[random_.below(kind_.controlCount)].address;
      // Rows come from anyRow().
      if (request.address == kCommand) request.data &= ~kWriteCommand;
      if (request.address == kControl && !mayBypass_) request.data &= ~kBump;
      if (request.address == kControl && random_.chance(0.8)) request.data |= kRxTxEnable;
      // A node of a cluster takes few of the round's frames, or none.
      if (request.address == kDispatchControl && random_.chance(0.9)) request.data &= ~kDispatchMode;
      software_.ask({request});
      break;
    }
  }
}

}  // namespace sallyport::fuzz
