// SPDX-License-Identifier: Apache-2.0
// The memories of a Verilated model, which memories.vlt makes public.
#pragma once

#include <verilated.h>
#include <verilated_syms.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chip/memory.h"

namespace sallyport::sim {

// Those of every model in `context`, by name. A name begins below the top module. Words of a model
// are stored with their lowest byte first, as memory.h wants them.
inline std::vector<ChipMemory> verilatedMemories(VerilatedContext& context, const std::string& top) {
  std::vector<ChipMemory> found;
  for (const auto& [name, scope] : *context.scopeNameMap()) {
    const std::string path(name);
    const size_t below = path.find("." + top + ".");
    if (below == std::string::npos || !scope->varsp()) continue;
    const auto memory = scope->varsp()->find("Memory");
    if (memory == scope->varsp()->end()) continue;
    const VerilatedVar& rows = memory->second;
    std::string instance = path.substr(below + top.size() + 2);
    // firtool's suffix of an instance of a memory.
    if (const size_t suffix = instance.rfind("_ext"); suffix + 4 == instance.size()) instance.resize(suffix);
    found.push_back({instance, rows.elements(1), rows.elements(0), static_cast<uint8_t*>(rows.datap()),
                     rows.totalSize() / static_cast<size_t>(rows.elements(1))});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

}  // namespace sallyport::sim
