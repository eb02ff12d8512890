// SPDX-License-Identifier: Apache-2.0
// A row of a table, as software writes it in 32 words.
#pragma once

#include <array>
#include <cstdint>

#include "fuzz/registers/rows.h"

namespace sallyport::fuzz {

using Row = std::array<uint32_t, 32>;

// A part of a row of up to 64 bits.
uint64_t field(const Row& row, unsigned lsb, unsigned width);
void put(Row& row, unsigned lsb, unsigned width, uint64_t value);
// The low 64 bits of a wider field, and zeros above.
void put(Row& row, Field field, uint64_t value);

}  // namespace sallyport::fuzz
