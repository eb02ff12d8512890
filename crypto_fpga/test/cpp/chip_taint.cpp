// SPDX-License-Identifier: Apache-2.0
// PACKETS SEED [+planted=NAME | +withheld=NAME]: fuzzes a tainted crypto chip (tainted_chip.h) in
// rounds until so many packets went in. Exit status 1: a secret leaves, or a round failed.
#include <cstdio>
#include <cstdlib>

#include "fuzz/drive/crypto_fuzz.h"
#include "tainted_chip.h"

double sc_time_stamp() { return 0; }

int main(int argc, const char** argv) {
  using namespace sallyport;
  // Longer than the calm that follows.
  constexpr int64_t kAttack = 300'000;
  const auto packets = std::strtoll(argv[1], nullptr, 10);
  const auto seed = std::strtoull(argv[2], nullptr, 10);
  auto owned = std::make_unique<fuzz::TaintedChip>(argc, argv);
  const fuzz::TaintedChip& chip = *owned;
  int64_t rounds = 0;
  std::string failure;
  std::optional<fuzz::CryptoFuzz> fuzz;
  try {
    fuzz.emplace(std::move(owned), seed, std::nullopt, kAttack);
    for (; fuzz->packetsIn() < packets; rounds++) fuzz->round();
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  if (fuzz) {
    int64_t received = 0;
    for (const char* name : {"red_rx_packets", "black_rx_packets"})
      if (const auto count = fuzz->counts().find(name); count != fuzz->counts().end()) received += count->second;
    std::printf(
        "rounds: %lld\ncycles: %lld\npackets in: %lld\nwhole packets: %lld\nESP out: %lld\nverified: %lld\nbypassed: "
        "%lld\n"
        "register accesses: %lld\nupsets: %lld\ntainted words toward red: %lld\n",
        static_cast<long long>(rounds), static_cast<long long>(fuzz->cycles()),
        static_cast<long long>(fuzz->packetsIn()), static_cast<long long>(received),
        static_cast<long long>(fuzz->judge().esp), static_cast<long long>(fuzz->judge().verified),
        static_cast<long long>(fuzz->judge().bypassed), static_cast<long long>(fuzz->transactions()),
        static_cast<long long>(fuzz->upsets()), static_cast<long long>(chip.plaintext()));
    for (const auto& [name, value] : fuzz->counts())
      if (value != 0) std::printf("%s: %lld\n", name.c_str(), static_cast<long long>(value));
  }
  if (!failure.empty()) std::printf("%s\n", failure.c_str());
  std::fflush(stdout);
  std::_Exit(failure.empty() ? 0 : 1);
}
