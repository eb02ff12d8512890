// SPDX-License-Identifier: Apache-2.0
// Frames and IP packets around a payload.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fuzz/link/frame.h"

namespace sallyport::fuzz {

using Mac = std::array<uint8_t, 6>;

struct Ip {
  bool v6 = false, df = false, more = false;
  uint8_t tos = 0, ttl = 64, protocol = 17;
  uint16_t identification = 0;
  unsigned offset = 0;  // of a fragment, in bytes
  // IPv6 addresses are these behind 2001:db8::.
  uint32_t source = 0x0a010001, destination = 0x0a020001;
};

void append(Bytes& to, const Bytes& what);
// `value` in network order.
void append(Bytes& to, uint64_t value, unsigned bytes);

// RFC 791 or RFC 8200; a fragment of IPv6 has its fragment header.
Bytes ip(const Ip& header, const Bytes& payload);
// RFC 768, without a checksum.
Bytes udp(uint16_t source, uint16_t destination, const Bytes& payload);
// RFC 4303: SPI and number in front.
Bytes esp(uint32_t spi, uint32_t number, const Bytes& payload);
// With VLAN tags of TPID 0x8100.
Bytes ethernet(const Mac& to, const std::vector<uint16_t>& vlans, uint16_t type, const Bytes& payload);
// The two fragments of a payload, cut at `at`, a multiple of 8.
std::array<Bytes, 2> fragments(Ip header, const Bytes& payload, size_t at);

}  // namespace sallyport::fuzz
