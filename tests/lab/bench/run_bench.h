// Runs freshet-bench and reads its output.
#ifndef FRESHET_TESTS_LAB_BENCH_RUN_BENCH_H_
#define FRESHET_TESTS_LAB_BENCH_RUN_BENCH_H_

#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {

// Returns the lines that `freshet-bench ARGUMENTS` prints. A failed run fails the test.
inline std::vector<nlohmann::json> RunBench(const std::string& arguments) {
  const ProgramResult result = RunProgram("freshet-bench " + arguments, "");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<nlohmann::json> lines;
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_LAB_BENCH_RUN_BENCH_H_
