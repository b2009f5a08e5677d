#include "server/base/reporting.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(RunReporting, ReportsUntilAllIsDone) {
  std::promise<void> reported;
  int reports = 0;
  std::atomic<int> done = 0;
  const auto work = [&done, until = reported.get_future().share()] {
    until.wait();
    ++done;
  };
  RunReporting({work, work, work}, Duration::Millis(1), [&] {
    EXPECT_LT(done, 3);
    if (++reports == 3) reported.set_value();
  });
  EXPECT_EQ(done, 3);
  EXPECT_GE(reports, 3);
}

TEST(RunReporting, DoesNotReportWhatIsDoneInTime) {
  int done = 0;
  RunReporting({[&] { ++done; }}, Duration::Hours(1), [] { ADD_FAILURE(); });
  RunReporting({[&] { ++done; }}, Duration::Hours(1), {});
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace freshet
