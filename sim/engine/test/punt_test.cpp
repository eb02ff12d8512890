// Punt reasons have one source, the register description.
#include "punt.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

namespace sallyport::sim {
namespace {

TEST(Punt, ReasonsAreThoseOfTheRegisterDescription) {
  std::ifstream file(SALLYPORT_ROOT "/regs/common.rdl");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::smatch body;
  ASSERT_TRUE(std::regex_search(text, body, std::regex("enum punt_reason_e \\{([^}]*)\\}")));
  const std::string entries = body[1];
  const std::regex entry("(\\w+) = (\\d+)");
  int count = 0;
  for (std::sregex_iterator it(entries.begin(), entries.end(), entry), end; it != end; ++it, count++)
    EXPECT_EQ((*it)[1], puntReasonName(static_cast<uint8_t>(std::stoi((*it)[2]))));
  EXPECT_EQ(count, kPuntReasons);
}

}  // namespace
}  // namespace sallyport::sim
