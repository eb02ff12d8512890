// SPDX-License-Identifier: Apache-2.0
// sallyport-fuzz [--chip inner|crypto|outer] [--seed N] [--rounds N | --seconds N]: hostile traffic
// and register accesses (docs/explanation/fuzzing.md). The same seed and rounds give the same run.
// Exit status 1: a round failed, and the last line says what, in which round.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "chip/chip_factory.h"
#include "fuzz/drive/crypto_fuzz.h"
#include "fuzz/drive/interface_fuzz.h"

namespace {

using namespace sallyport;

int usage(const char* argument) {
  std::fprintf(stderr,
               "sallyport-fuzz: %s: give --chip with inner, crypto or outer; --seed, --rounds or --seconds, each with "
               "a number\n",
               argument);
  return 2;
}

struct Options {
  sim::ChipKind chip = sim::ChipKind::kCrypto;
  uint64_t seed = 1;
  int64_t rounds = 0, seconds = 0;
};

void tell(const fuzz::CryptoFuzz& fuzz) {
  const auto& judge = fuzz.judge();
  std::printf("out %lld ESP, %lld verified, %lld in bypass", static_cast<long long>(judge.esp),
              static_cast<long long>(judge.verified), static_cast<long long>(judge.bypassed));
}

void tell(const fuzz::InterfaceFuzz& fuzz) {
  const auto& judge = fuzz.judge();
  std::printf("out %lld whole, %lld in part, %lld without a word of a packet, %lld in bypass",
              static_cast<long long>(judge.whole), static_cast<long long>(judge.parts),
              static_cast<long long>(judge.without), static_cast<long long>(fuzz.bypassed()));
}

template <class Fuzz>
int run(Fuzz fuzz, const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  int64_t round = 0;
  std::string failure;
  try {
    for (; round < options.rounds || elapsed() < static_cast<double>(options.seconds); round++) fuzz.round();
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  std::printf("%s chip: seed %llu, %lld rounds, %lld cycles, %lld packets in; ", sim::chipName(options.chip),
              static_cast<unsigned long long>(options.seed), static_cast<long long>(round),
              static_cast<long long>(fuzz.cycles()), static_cast<long long>(fuzz.packetsIn()));
  tell(fuzz);
  std::printf("; %lld register accesses; %.0f s\n", static_cast<long long>(fuzz.transactions()), elapsed());
  for (const auto& [name, value] : fuzz.counts())
    if (value != 0) std::printf("  %s %lld\n", name.c_str(), static_cast<long long>(value));
  if (failure.empty()) return 0;
  std::printf("FAILED in round %lld, cycle %lld: %s\n", static_cast<long long>(round),
              static_cast<long long>(fuzz.cycles()), failure.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], given = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--chip") {
      const auto kinds = {sim::ChipKind::kInner, sim::ChipKind::kCrypto, sim::ChipKind::kOuter};
      const auto* kind = std::find_if(kinds.begin(), kinds.end(), [&](auto k) { return given == sim::chipName(k); });
      if (kind == kinds.end()) return usage(argv[i]);
      options.chip = *kind;
      continue;
    }
    char* end = nullptr;
    const int64_t value = given.empty() ? -1 : std::strtoll(given.c_str(), &end, 10);
    if (value < 0 || !end || *end) return usage(argv[i]);
    if (name == "--seed")
      options.seed = static_cast<uint64_t>(value);
    else if (name == "--rounds")
      options.rounds = value;
    else if (name == "--seconds")
      options.seconds = value;
    else
      return usage(argv[i]);
  }
  if (options.rounds == 0 && options.seconds == 0) options.rounds = 1;
  auto chip = sim::makeChip(options.chip, "fuzzed");
  switch (options.chip) {
    case sim::ChipKind::kInner:
      return run(fuzz::InnerFuzz(std::move(chip), options.seed), options);
    case sim::ChipKind::kOuter:
      return run(fuzz::OuterFuzz(std::move(chip), options.seed), options);
    default:
      return run(fuzz::CryptoFuzz(std::move(chip), options.seed), options);
  }
}
