// SPDX-License-Identifier: Apache-2.0
// sallyport-fuzz-pair [--seed N] [--packets N]: two crypto chips with other keys and other red
// plaintext must look alike to black and to software, cycle by cycle (docs/explanation/fuzzing.md).
// Their lanes are ideal ciphers. Exit status 1: they do not, and the last line says where.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "chip/chip_factory.h"
#include "fuzz/drive/crypto_fuzz.h"

int main(int argc, char** argv) {
  using namespace sallyport;
  using Clock = std::chrono::steady_clock;
  int64_t seed = 1, packets = 1;
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const int64_t value = i + 1 < argc ? std::strtoll(argv[i + 1], &end, 10) : -1;
    const std::string name = argv[i];
    if (value < 0 || !end || *end || (name != "--seed" && name != "--packets")) {
      std::fprintf(stderr, "sallyport-fuzz-pair: %s: give --seed or --packets, each with a number\n", argv[i]);
      return 2;
    }
    (name == "--seed" ? seed : packets) = value;
  }
  const auto begin = Clock::now();
  const auto chip = [&](uint64_t secrets) {
    return fuzz::CryptoFuzz(sim::makeChip(sim::ChipKind::kCrypto, secrets ? "second" : "first"),
                            static_cast<uint64_t>(seed), static_cast<uint64_t>(seed) * 2 + secrets);
  };
  fuzz::CryptoFuzz first = chip(0), second = chip(1);
  std::string failure;
  int64_t rounds = 0, looks = 0;
  try {
    for (; first.packetsIn() < packets && failure.empty(); rounds++) {
      for (auto* one : {&first, &second}) {
        one->trace().clear();
        one->round();
      }
      const auto &a = first.trace(), &b = second.trace();
      const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
      looks += static_cast<int64_t>(a.size());
      if (a != b)
        failure = "FLOW: black or software sees a difference in cycle " +
                  std::to_string(differs == a.end() ? first.cycles() : differs->cycle);
    }
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf(
      "two crypto chips: seed %lld, %lld rounds, %lld packets into each, %lld cycles each, %lld changes seen alike; "
      "%lld register accesses; %.0f s\n",
      static_cast<long long>(seed), static_cast<long long>(rounds), static_cast<long long>(first.packetsIn()),
      static_cast<long long>(first.cycles()), static_cast<long long>(looks),
      static_cast<long long>(first.transactions()), elapsed);
  for (const auto& [name, count] : first.counts())
    if (const auto other = second.counts().find(name); other != second.counts().end() && other->second != count)
      std::printf("  %s: %lld and %lld\n", name.c_str(), static_cast<long long>(count),
                  static_cast<long long>(other->second));
  if (!failure.empty()) std::printf("FAILED in round %lld: %s\n", static_cast<long long>(rounds), failure.c_str());
  std::fflush(stdout);
  // Verilator's end of the second model with DPI looks for a context that is gone.
  std::_Exit(failure.empty() ? 0 : 1);
}
