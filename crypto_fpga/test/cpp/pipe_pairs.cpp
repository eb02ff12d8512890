// Drives PipePairs with random operands for as many cycles as the argument says: stretches in which every pipe is full,
// in which little comes and in which nothing does, and now and then a wipe. Ends with 1 at the first difference, which
// it tells.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "VPipePairs.h"

int main(int argc, char** argv) {
  constexpr int kPairs = 9;
  std::mt19937_64 dice(1);
  VPipePairs top;
  long results[kPairs] = {};
  top.reset = 1;
  top.io_wipe = 0;
  top.io_enter = 0;
  unsigned density = 0, wiping = 0;
  const long cycles = argc > 1 ? std::atol(argv[1]) : 1000;
  for (long cycle = 0; cycle < cycles; cycle++) {
    top.reset = cycle < 4;
    if (cycle % 500 == 0) density = dice() % 4;
    if (cycle > 4 && dice() % 5000 == 0) wiping = 200 + dice() % 50;
    top.io_wipe = wiping > 0;
    if (wiping) wiping--;
    for (int i = 0; i < 32; i++) top.io_random[i] = static_cast<uint32_t>(dice());
    top.io_enter = 0;
    for (int i = 0; i < kPairs; i++)
      if (!top.reset && (density == 3 || (density && dice() % 8 < 2 * density))) top.io_enter |= 1u << i;
    top.clock = 0;
    top.eval();
    if (!top.reset && top.io_differs) {
      std::printf("cycle %ld: pairs %#x differ\n", cycle, static_cast<unsigned>(top.io_differs));
      return 1;
    }
    for (int i = 0; i < kPairs; i++) results[i] += top.io_results >> i & 1;
    top.clock = 1;
    top.eval();
  }
  std::printf("results:");
  for (long count : results) std::printf(" %ld", count);
  std::printf("\n");
  return 0;
}
