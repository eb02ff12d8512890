// SPDX-License-Identifier: Apache-2.0
// What software does to a fuzzed crypto chip.
#include "fuzz/drive/crypto_fuzz.h"
#include "fuzz/drive/crypto_registers.h"

namespace sallyport::fuzz {

// The whole row, and then no word of it can be read.
void CryptoFuzz::write(unsigned table, unsigned index, const Row& row) {
  if (table <= kInboundKey) watch_.mustNotSee(unmarkedSecrets(row));
  window_.write(
      table, index, row,
      [=] {
        if (table == kOutboundKey) judge_.outbound(index, row);
        if (table == kOutboundNumber) judge_.outboundNumber(index, uint64_t{row[1]} << 32 | row[0]);
      },
      [this] {
        std::vector<sim::RegisterRequest> reads;
        for (uint16_t i = 0; i < 32; i++) reads.push_back({false, static_cast<uint16_t>(kTableData + 4 * i), 0});
        software_.askNext(reads, [this](const Software::Answers& words) {
          for (const auto& word : words) watch_.look(2, reinterpret_cast<const uint8_t*>(&word.data), 4);
        });
      });
}

void CryptoFuzz::control(uint32_t value) {
  judge_.allowBypass(value >> 1 & 1, value >> 2 & 1);
  software_.ask({{true, kControl, value}});
}

void CryptoFuzz::writeRows() {
  for (unsigned sa = 0; sa < kSas; sa++) {
    const bool transport = random_.chance(0.2);
    outbound_[sa] = newRow(false, transport);
    inbound_[sa] = newRow(true, transport);
    number_[sa] = 0;
    write(kOutboundKey, sa, outbound_[sa]);
    write(kInboundKey, sa, inbound_[sa]);
  }
}
// A row of any bits, valid or not, of a suite that encrypts by a key stream or of none.
void CryptoFuzz::writeJunk() {
  Row row;
  for (auto& word : row) word = static_cast<uint32_t>(random_.next());
  const uint64_t number =
      random_.chance(0.5) ? kUsedSuites[random_.below(kUsedSuites.size())] : 16 + random_.below(240);
  put(row, kSuiteLsb, 8, number);
  const unsigned index = static_cast<unsigned>(random_.below(random_.chance(0.8) ? kSas : 1 << 24));
  write(static_cast<unsigned>(random_.below(5)), index, row);
}

void CryptoFuzz::anyWrite() {
  sim::RegisterRequest request{true, static_cast<uint16_t>(random_.below(1024) * 4),
                               static_cast<uint32_t>(random_.next())};
  switch (random_.below(5)) {
    case 0:
      request.address = static_cast<uint16_t>(kTableData + 4 * random_.below(32));
      break;
    case 1:
      request = {true, kSelect, static_cast<uint32_t>(random_.below(5))};
      break;
    case 2:
      request = {true, kCommand, static_cast<uint32_t>(random_.below(4))};
      break;
    default:
      break;
  }
  if (request.address == kControl) {
    if (!mayBypass_) request.data &= ~kBypassBits;
    if (!random_.chance(0.1)) request.data &= ~kZeroize;
    judge_.allowBypass(request.data >> 1 & 1, request.data >> 2 & 1);
  }
  // Rows and numbers come from writeJunk(), for the judge must know them.
  if (request.address == kCommand && (request.data & 3) == kWriteCommand) return writeJunk();
  software_.ask({request});
}

void CryptoFuzz::anyAccess() {
  if (!software_.idle()) return;
  switch (random_.below(8)) {
    case 0:
    case 1:
    case 2: {
      // Words of a row under way are software's own, and no secret yet: they have no mark.
      std::vector<sim::RegisterRequest> reads;
      for (uint64_t n = 1 + random_.below(8); n > 0; n--)
        reads.push_back({false, static_cast<uint16_t>(random_.below(4096)), 0});
      software_.ask(std::move(reads), [this](const Software::Answers& answers) {
        for (const auto& answer : answers) watch_.look(2, reinterpret_cast<const uint8_t*>(&answer.data), 4);
      });
      break;
    }
    case 3: {
      const unsigned sa = static_cast<unsigned>(random_.below(kSas));
      const bool in = random_.chance(0.5);
      Row& row = in ? inbound_[sa] : outbound_[sa];
      row = newRow(in, inTransport(row));
      if (in) number_[sa] = 0;
      write(in ? kInboundKey : kOutboundKey, sa, row);
      break;
    }
    case 4:
      if (random_.chance(0.3)) writeRows();
      control(kEnable | (mayBypass_ ? random_.next() & kBypassBits : 0));
      break;
    default:
      anyWrite();
      break;
  }
}

}  // namespace sallyport::fuzz
