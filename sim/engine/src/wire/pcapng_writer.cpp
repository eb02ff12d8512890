// SPDX-License-Identifier: Apache-2.0
#include "wire/pcapng_writer.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace sallyport::sim {

namespace {
constexpr uint32_t kSectionHeader = 0x0A0D0D0A, kInterfaceDescription = 1, kInterfaceStatistics = 5,
                   kEnhancedPacket = 6;
constexpr uint16_t kOptEnd = 0, kOptComment = 1, kShbUserApplication = 4;
constexpr uint16_t kIfName = 2, kIfTimestampResolution = 9, kEpbFlags = 2;
constexpr uint16_t kLinkTypeEthernet = 1;
}  // namespace

PcapngWriter::PcapngWriter(const std::string& path, const std::vector<std::string>& interfaceNames)
    : path_(path), file_(fopen(path.c_str(), "wb")) {
  if (!file_) throw std::runtime_error("cannot write capture " + path + ": " + std::strerror(errno));
  put32(0x1A2B3C4D);  // byte order
  put16(1);
  put16(0);
  put32(0xFFFFFFFF);  // section length not given
  put32(0xFFFFFFFF);
  option(kShbUserApplication, "sallyport-sim", 13);
  endOptions();
  flushBlock(kSectionHeader);
  for (const std::string& name : interfaceNames) {
    put16(kLinkTypeEthernet);
    put16(0);
    put32(0);  // no snap length
    option(kIfName, name.data(), name.size());
    const uint8_t nanoseconds = 9;
    option(kIfTimestampResolution, &nanoseconds, 1);
    endOptions();
    flushBlock(kInterfaceDescription);
  }
}

void PcapngWriter::write(int64_t ns, const uint8_t* data, size_t bytes, Direction direction, std::string_view comment,
                         uint32_t interfaceNumber) {
  put32(interfaceNumber);
  putTime(ns);
  put32(static_cast<uint32_t>(bytes));
  put32(static_cast<uint32_t>(bytes));
  body_.insert(body_.end(), data, data + bytes);
  body_.resize((body_.size() + 3) & ~size_t{3}, 0);
  const auto flags = static_cast<uint32_t>(direction);
  if (flags) option(kEpbFlags, &flags, sizeof flags);
  if (!comment.empty()) option(kOptComment, comment.data(), comment.size());
  if (flags || !comment.empty()) endOptions();
  flushBlock(kEnhancedPacket);
}

void PcapngWriter::writeStatistics(int64_t ns, uint32_t interfaceNumber, std::string_view comment) {
  put32(interfaceNumber);
  putTime(ns);
  if (!comment.empty()) {
    option(kOptComment, comment.data(), comment.size());
    endOptions();
  }
  flushBlock(kInterfaceStatistics);
}

void PcapngWriter::flush() {
  if (file_ && fflush(file_.get()) != 0)
    throw std::runtime_error("cannot write capture " + path_ + ": " + std::strerror(errno));
}

void PcapngWriter::close() {
  flush();
  file_.reset();
}

void PcapngWriter::put16(uint16_t value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  body_.insert(body_.end(), bytes, bytes + sizeof value);
}

void PcapngWriter::put32(uint32_t value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  body_.insert(body_.end(), bytes, bytes + sizeof value);
}

void PcapngWriter::putTime(int64_t ns) {
  put32(static_cast<uint32_t>(static_cast<uint64_t>(ns) >> 32));
  put32(static_cast<uint32_t>(ns));
}

void PcapngWriter::option(uint16_t code, const void* data, size_t bytes) {
  put16(code);
  put16(static_cast<uint16_t>(bytes));
  const auto* from = static_cast<const uint8_t*>(data);
  body_.insert(body_.end(), from, from + bytes);
  body_.resize((body_.size() + 3) & ~size_t{3}, 0);
}

void PcapngWriter::endOptions() {
  put16(kOptEnd);
  put16(0);
}

void PcapngWriter::flushBlock(uint32_t type) {
  const auto total = static_cast<uint32_t>(body_.size() + 12);
  fwrite(&type, 4, 1, file_.get());
  fwrite(&total, 4, 1, file_.get());
  fwrite(body_.data(), 1, body_.size(), file_.get());
  fwrite(&total, 4, 1, file_.get());
  if (ferror(file_.get())) throw std::runtime_error("cannot write capture " + path_ + ": " + std::strerror(errno));
  body_.clear();
}

}  // namespace sallyport::sim
