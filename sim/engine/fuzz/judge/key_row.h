// SPDX-License-Identifier: Apache-2.0
// Rows of the key tables (regs/rows.rdl), and the ESP packets that they stand for.
#pragma once

#include <array>
#include <optional>

#include "base/random.h"
#include "fuzz/judge/row.h"
#include "fuzz/link/frame.h"
#include "model/esp_transform.h"

namespace sallyport::fuzz {

// Suites that the fuzzing uses: those that encrypt, and whose inbound key is the outbound one.
inline constexpr std::array<uint8_t, 8> kUsedSuites{1, 2, 3, 4, 10, 11, 13, 14};
inline constexpr unsigned kSuiteLsb = 1016, kValidLsb = 1008, kTransportLsb = 1012;

// A usable row of a key from `secrets`; its words have the mark of keys if `marked`.
Row keyRow(sim::Random& random, sim::Random& secrets, bool marked, bool inbound, uint32_t spi, bool transport);
// What must not leave although it has no mark.
Bytes unmarkedSecrets(const Row& row);

inline bool usable(const Row& row) { return field(row, kValidLsb, 1); }
inline bool inTransport(const Row& row) { return field(row, kTransportLsb, 1); }
// For packet number `sequence`; `outbound` rows make its IV of their mask.
model::Job jobOf(const Row& row, uint64_t sequence, bool outbound);

struct Opened {
  Bytes payload;
  uint8_t nextHeader;
  uint64_t sequence;
};
// The packet as the outbound row's key made it, if it did; `high` are high halves to try.
std::optional<Opened> openWith(const Row& row, const Bytes& packet, const std::vector<uint32_t>& high);

}  // namespace sallyport::fuzz
