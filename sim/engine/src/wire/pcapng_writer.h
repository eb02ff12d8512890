// SPDX-License-Identifier: Apache-2.0
// Writes a pcapng file (draft-ietf-opsawg-pcapng): one Ethernet interface or several, nanosecond
// timestamps of simulated time (0 is reset).
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::sim {

class PcapngWriter {
 public:
  enum class Direction : uint32_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

  // Throws std::runtime_error when the file cannot be written.
  PcapngWriter(const std::string& path, const std::string& interfaceName)
      : PcapngWriter(path, std::vector<std::string>{interfaceName}) {}
  PcapngWriter(const std::string& path, const std::vector<std::string>& interfaceNames);

  void write(int64_t ns, const uint8_t* data, size_t bytes, Direction direction, std::string_view comment = {},
             uint32_t interfaceNumber = 0);
  // An interface statistics block: the last of an interface says when its capture ended.
  void writeStatistics(int64_t ns, uint32_t interfaceNumber, std::string_view comment = {});
  // After this call a reader of the file sees all frames written so far. Throws as the
  // constructor does.
  void flush();
  void close();

 private:
  void put16(uint16_t value);
  void put32(uint32_t value);
  void putTime(int64_t ns);
  void option(uint16_t code, const void* data, size_t bytes);
  void endOptions();
  void flushBlock(uint32_t type);

  struct Close {
    void operator()(FILE* file) const { fclose(file); }
  };
  std::string path_;
  std::unique_ptr<FILE, Close> file_;
  std::vector<uint8_t> body_;
};

}  // namespace sallyport::sim
