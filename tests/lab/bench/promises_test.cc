// Tests freshet-bench promises on few pages: next to each disturbance, pages are assigned, the
// disturbance really takes place, and the line has all measured numbers.
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

TEST(BenchPromises, MeasuresBesideEachDisturbance) {
  std::set<std::string> beside;
  const std::vector<json> lines = RunBench(
      "promises --pages 3000 --rate 500 --workers 3 --seconds 0.4 "
      "--beside nothing,rate-changes,signals,reads,epochs,checkpoints,compactions,certificates "
      "--tls");
  EXPECT_EQ(lines.size(), 8u);
  for (const json& line : lines) {
    beside.insert(line["beside"]);
    EXPECT_GT(line["assignments"].get<int>(), 0) << line;
    EXPECT_EQ(line["beside_per_second"].get<double>() > 0, line["beside"] != "nothing") << line;
    for (const char* member : {"too_many_in_a_window", "too_few_in_a_window", "late_ticks_share",
                               "bare_late_ticks_share", "tick_to_worker_p99_us"}) {
      EXPECT_TRUE(line[member].is_number()) << member << ": " << line;
    }
  }
  EXPECT_EQ(beside.size(), 8u);
}

}  // namespace
}  // namespace freshet
