// SPDX-License-Identifier: Apache-2.0
// The memories and control registers of a Verilated model, which memories.vlt makes public.
#pragma once

#include <verilated.h>
#include <verilated_syms.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chip/memory.h"

namespace sallyport::sim {

// Those of every model in `context`, by name, and the copies of control registers as memories of
// one row. A name begins below the top module. Words of a model are stored with their lowest byte
// first, as memory.h wants them.
inline std::vector<ChipMemory> verilatedMemories(VerilatedContext& context, const std::string& top) {
  std::vector<ChipMemory> found;
  for (const auto& [name, scope] : *context.scopeNameMap()) {
    const std::string path(name);
    const size_t below = path.find("." + top + ".");
    if (below == std::string::npos || !scope->varsp()) continue;
    std::string instance = path.substr(below + top.size() + 2);
    // firtool's suffix of an instance of a memory.
    if (const size_t suffix = instance.rfind("_ext"); suffix + 4 == instance.size()) instance.resize(suffix);
    const auto add = [&found](const std::string& as, const VerilatedVar& words, int64_t rows) {
      // Not elements(0), which is 1 in Verilator 5.048 whatever the width.
      found.push_back({as, rows, static_cast<int>(words.entBits()), static_cast<uint8_t*>(words.datap()),
                       words.totalSize() / static_cast<size_t>(rows)});
    };
    for (const auto& [variable, words] : *scope->varsp()) {
      if (std::string(variable) == "Memory") add(instance, words, words.elements(1));
      if (words.udims() == 0) add(instance + "." + variable, words, 1);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

}  // namespace sallyport::sim
