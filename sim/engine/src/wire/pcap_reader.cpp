// SPDX-License-Identifier: Apache-2.0
#include "wire/pcap_reader.h"

#include <pcap/pcap.h>

#include <memory>
#include <stdexcept>

namespace sallyport::sim {

std::vector<CapturedFrame> readCapture(const std::string& path) {
  char reason[PCAP_ERRBUF_SIZE] = {};
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> file(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, reason), [](pcap_t* p) {
        if (p) pcap_close(p);
      });
  if (!file) {
    const std::string text = reason;
    throw std::runtime_error(text.find(path) == std::string::npos ? path + ": " + text : text);
  }
  const int linkType = pcap_datalink(file.get());
  if (linkType != DLT_EN10MB)
    throw std::runtime_error(path + ": link type " + std::to_string(linkType) + " is not Ethernet (1)");

  std::vector<CapturedFrame> frames;
  int64_t first = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int got;
  while ((got = pcap_next_ex(file.get(), &header, &data)) == 1) {
    const std::string where = path + ": frame " + std::to_string(frames.size() + 1);
    if (header->caplen < header->len)
      throw std::runtime_error(where + " is cut by the snap length (" + std::to_string(header->caplen) + " of " +
                               std::to_string(header->len) + " bytes)");
    if (header->caplen == 0) throw std::runtime_error(where + " is empty");
    const int64_t ns = static_cast<int64_t>(header->ts.tv_sec) * 1'000'000'000 + header->ts.tv_usec;
    if (frames.empty()) first = ns;
    frames.push_back({ns - first, {data, data + header->caplen}});
  }
  if (got == PCAP_ERROR) throw std::runtime_error(path + ": " + pcap_geterr(file.get()));
  if (frames.empty()) throw std::runtime_error(path + ": holds no frame");
  return frames;
}

}  // namespace sallyport::sim
