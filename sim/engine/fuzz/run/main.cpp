// SPDX-License-Identifier: Apache-2.0
// sallyport-fuzz [--seed N] [--rounds N | --seconds N]: hostile traffic and register accesses
// (docs/explanation/fuzzing.md). The same seed and rounds give the same run. Exit status 1: a round
// failed, and the last line says what, in which round.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "chip/chip_factory.h"
#include "fuzz/drive/crypto_fuzz.h"

namespace {

int usage(const char* argument) {
  std::fprintf(stderr, "sallyport-fuzz: %s: give --seed, --rounds or --seconds, each with a number\n", argument);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace sallyport;
  using Clock = std::chrono::steady_clock;
  uint64_t seed = 1;
  int64_t rounds = 0, seconds = 0;
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const int64_t value = i + 1 < argc ? std::strtoll(argv[i + 1], &end, 10) : -1;
    if (value < 0 || !end || *end) return usage(argv[i]);
    const std::string name = argv[i];
    if (name == "--seed")
      seed = static_cast<uint64_t>(value);
    else if (name == "--rounds")
      rounds = value;
    else if (name == "--seconds")
      seconds = value;
    else
      return usage(argv[i]);
  }
  if (rounds == 0 && seconds == 0) rounds = 1;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  int64_t round = 0;
  std::string failure;
  fuzz::CryptoFuzz fuzz(sim::makeChip(sim::ChipKind::kCrypto, "fuzzed"), seed);
  try {
    for (; round < rounds || elapsed() < static_cast<double>(seconds); round++) fuzz.round();
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  const auto& judge = fuzz.judge();
  std::printf(
      "crypto chip: seed %llu, %lld rounds, %lld cycles, %lld packets in; out %lld ESP, %lld verified, %lld in bypass; "
      "%lld register accesses; %.0f s\n",
      static_cast<unsigned long long>(seed), static_cast<long long>(round), static_cast<long long>(fuzz.cycles()),
      static_cast<long long>(fuzz.packetsIn()), static_cast<long long>(judge.esp),
      static_cast<long long>(judge.verified), static_cast<long long>(judge.bypassed),
      static_cast<long long>(fuzz.transactions()), elapsed());
  for (const auto& [name, value] : fuzz.counts())
    if (value != 0) std::printf("  %s %lld\n", name.c_str(), static_cast<long long>(value));
  if (failure.empty()) return 0;
  std::printf("FAILED in round %lld, cycle %lld: %s\n", static_cast<long long>(round),
              static_cast<long long>(fuzz.cycles()), failure.c_str());
  return 1;
}
