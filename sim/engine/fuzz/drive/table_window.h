// SPDX-License-Identifier: Apache-2.0
// Software's way to write rows of tables, through the window that each chip has.
#pragma once

#include <functional>

#include "fuzz/drive/software.h"
#include "fuzz/judge/row.h"

namespace sallyport::fuzz {

class TableWindow {
 public:
  TableWindow(Software& software, const int64_t& cycle) : software_(software), cycle_(cycle) {}

  // In the order of the software's accesses. `first` is called before the row's words are written,
  // `then` when the command has ended. A table that stays busy throws std::runtime_error.
  void write(unsigned table, unsigned index, const Row& row, std::function<void()> first = {},
             std::function<void()> then = {});

 private:
  void whenFree(int64_t since, std::function<void()> then);

  Software& software_;
  const int64_t& cycle_;
};

}  // namespace sallyport::fuzz
