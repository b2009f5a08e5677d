// Runs freshet-bench and reads what it prints.
#ifndef FRESHET_TESTS_SUPPORT_RUN_BENCH_H_
#define FRESHET_TESTS_SUPPORT_RUN_BENCH_H_

#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {

// The lines that `freshet-bench ARGUMENTS` prints; a run that fails is a failure of the test.
inline std::vector<nlohmann::json> RunBench(const std::string& arguments) {
  const ProgramResult result = RunProgram("freshet-bench " + arguments, "");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<nlohmann::json> lines;
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_RUN_BENCH_H_
