// SPDX-License-Identifier: Apache-2.0
#include "wire/pcapng_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace sallyport::sim {

namespace {

constexpr uint32_t kSectionHeader = 0x0A0D0D0A, kInterfaceDescription = 1, kSimplePacket = 3, kInterfaceStatistics = 5,
                   kEnhancedPacket = 6;
constexpr uint32_t kByteOrder = 0x1A2B3C4D;
constexpr uint16_t kOptEnd = 0, kOptComment = 1, kIfName = 2, kIfTimestampResolution = 9, kEpbFlags = 2,
                   kLinkTypeEthernet = 1;
constexpr uint32_t kDirectionBits = 3, kInbound = 1;
constexpr uint8_t kMicroseconds = 6, kNanoseconds = 9;

// The bytes of a block between its lengths; everything it is asked for is in it, or it throws.
class Block {
 public:
  Block(const std::string& path, const uint8_t* data, size_t size) : path_(path), data_(data), size_(size) {}

  uint32_t word(size_t at) const { return number<uint32_t>(at); }
  uint16_t half(size_t at) const { return number<uint16_t>(at); }
  std::vector<uint8_t> bytes(size_t at, size_t count) const {
    need(at, count);
    return {data_ + at, data_ + at + count};
  }
  // The value of an option, of those that begin at `at`.
  std::optional<std::vector<uint8_t>> option(size_t at, uint16_t code) const {
    while (at + 4 <= size_ && half(at) != kOptEnd) {
      const size_t count = half(at + 2);
      if (half(at) == code) return bytes(at + 4, count);
      at += 4 + (count + 3) / 4 * 4;
    }
    return std::nullopt;
  }

 private:
  void need(size_t at, size_t count) const {
    if (at > size_ || count > size_ - at) throw std::runtime_error(path_ + ": is damaged: a block is cut short");
  }
  template <class Number>
  Number number(size_t at) const {
    need(at, sizeof(Number));
    Number value;
    std::memcpy(&value, data_ + at, sizeof value);
    return value;
  }

  const std::string& path_;
  const uint8_t* data_;
  size_t size_;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  void block(uint32_t type, const Block& block) {
    if (type == kSectionHeader) {
      if (sections_++) throw std::runtime_error(path_ + ": has several sections; a recording has one");
    } else if (type == kInterfaceDescription) {
      interface(block);
    } else if (type == kEnhancedPacket) {
      packet(block);
    } else if (type == kSimplePacket) {
      throw std::runtime_error(path_ + ": has packets without times; it is no recording of a live run");
    } else if (type == kInterfaceStatistics) {
      file.endNs = std::max(file.endNs, time(block));
      if (const auto comment = block.option(12, kOptComment))
        file.comments.emplace_back(comment->begin(), comment->end());
    }
  }

  PcapngFile file;

 private:
  void interface(const Block& block) {
    if (block.half(0) != kLinkTypeEthernet)
      throw std::runtime_error(path_ + ": link type " + std::to_string(block.half(0)) + " is not Ethernet (1)");
    const auto resolution = block.option(8, kIfTimestampResolution);
    const uint8_t digits = resolution && !resolution->empty() ? resolution->front() : kMicroseconds;
    if (digits != kNanoseconds)
      throw std::runtime_error(path_ + ": times are not in nanoseconds; it is no recording of a live run");
    const auto name = block.option(8, kIfName).value_or(std::vector<uint8_t>());
    file.interfaces.emplace_back(name.begin(), name.end());
  }

  void packet(const Block& block) {
    PcapngFrame frame;
    frame.ns = time(block);
    frame.interfaceNumber = block.word(0);
    const uint32_t kept = block.word(12), length = block.word(16);
    const std::string where = path_ + ": frame " + std::to_string(file.frames.size() + 1);
    if (kept < length)
      throw std::runtime_error(where + " is cut: the file has " + std::to_string(kept) + " of " +
                               std::to_string(length) + " bytes");
    if (kept == 0) throw std::runtime_error(where + " is empty");
    frame.bytes = block.bytes(20, kept);
    const auto flags = block.option(20 + (size_t{kept} + 3) / 4 * 4, kEpbFlags);
    frame.inbound = flags && !flags->empty() && (flags->front() & kDirectionBits) == kInbound;
    file.frames.push_back(std::move(frame));
  }

  // Of a packet or of statistics, which both begin with the interface.
  int64_t time(const Block& block) const {
    if (block.word(0) >= file.interfaces.size())
      throw std::runtime_error(path_ + ": is damaged: a block names interface " + std::to_string(block.word(0)) +
                               ", which was not described");
    return static_cast<int64_t>(uint64_t{block.word(4)} << 32 | block.word(8));
  }

  const std::string& path_;
  int sections_ = 0;
};

}  // namespace

PcapngFile readPcapng(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error(path + ": " + std::strerror(errno));
  const std::vector<uint8_t> all{std::istreambuf_iterator<char>(stream), {}};
  const Block whole(path, all.data(), all.size());
  if (all.size() < 12 || whole.word(0) != kSectionHeader)
    throw std::runtime_error(path + ": is no pcapng file; give what --record wrote");
  if (whole.word(8) != kByteOrder)
    throw std::runtime_error(path + ": was written on a machine of the other byte order, which is not supported");
  Reader reader(path);
  for (size_t at = 0; at < all.size();) {
    const uint32_t length = whole.word(at + 4);
    if (length < 12 || length % 4 || length > all.size() - at)
      throw std::runtime_error(path + ": is damaged: a block is cut short");
    reader.block(whole.word(at), Block(path, all.data() + at + 8, length - 12));
    at += length;
  }
  return std::move(reader.file);
}

}  // namespace sallyport::sim
