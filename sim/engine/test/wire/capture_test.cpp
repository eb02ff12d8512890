// SPDX-License-Identifier: Apache-2.0
// Captures: programs that are not ours must read the files (libpcap here, tshark where it
// is installed).
#include "wire/capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tester/test_packet.h"
#include "wire/pcap_reader.h"

namespace sallyport::sim {
namespace {

class CaptureFile : public ::testing::Test {
 protected:
  std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sallyport-capture-" + std::to_string(::getpid()));
  std::string path = directory / "x.pcapng";
  void SetUp() override { std::filesystem::create_directory(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }
};

std::string outputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char chunk[4096];
  size_t got;
  while ((got = fread(chunk, 1, sizeof chunk, pipe)) > 0) text.append(chunk, got);
  pclose(pipe);
  return text;
}

TEST_F(CaptureFile, RoundTripThroughLibpcapInTimeOrder) {
  StreamSpec spec;
  std::vector<uint8_t> bytes;
  buildPacket(spec, 0, 0, bytes);
  {
    Capture capture(path, "box0.red", {true, true});
    capture.out({bytes, false, nsToTicks(3000)});
    capture.in({bytes, false, nsToTicks(1000)});
    capture.advance(nsToTicks(2000));
    capture.in({std::vector<uint8_t>(61, 9), true, nsToTicks(2000)});
    capture.close();
  }
  const auto frames = readCapture(path);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].bytes, bytes);
  EXPECT_EQ(frames[1].bytes.size(), 61u);
  EXPECT_EQ(frames[1].ns, 1000);
  EXPECT_EQ(frames[2].ns, 2000);
}

TEST_F(CaptureFile, TsharkReadsCommentsChecksumsAndTimes) {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) GTEST_SKIP() << "tshark is not installed";
  StreamSpec spec;
  std::vector<uint8_t> bytes;
  buildPacket(spec, 7, 12345, bytes);
  {
    Capture capture(path, "box0.inner.punt", {});
    capture.add(nsToTicks(1234), bytes, PcapngWriter::Direction::kInbound, "punt: arp");
    capture.close();
  }
  const std::string text = outputOf("tshark -r " + path +
                                    " -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T "
                                    "fields -e frame.time_epoch -e frame.comment"
                                    " -e ip.checksum.status -e udp.checksum.status -e "
                                    "frame.interface_name 2>/dev/null");
  EXPECT_EQ(text, "0.000001234\tpunt: arp\t1\t1\tbox0.inner.punt\n");
}

TEST_F(CaptureFile, BadFilesAreRefusedWithASentence) {
  auto reason = [](const std::string& file) -> std::string {
    try {
      readCapture(file);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(reason(path).find("No such file"), std::string::npos);
  std::ofstream(path) << "this is not a capture, whatever its name says";
  EXPECT_NE(reason(path).find(path), std::string::npos);
  Capture(path, "empty", {}).close();
  EXPECT_EQ(reason(path), path + ": holds no frame");
}

}  // namespace
}  // namespace sallyport::sim
