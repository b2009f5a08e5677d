#include "server/ports/descriptors.h"

#include <sys/resource.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr DescriptorWishes kWishes = {.connections = 10'000, .http_connections = 256, .cores = 2};

TEST(Descriptors, AreEnoughForEveryWishOnAMachineWithMany) {
  const StatusOr<DescriptorPlan> plan = PlanDescriptors(524'288, kWishes);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->table_files, -1);
  EXPECT_EQ(plan->connections, 10'000);
  EXPECT_EQ(plan->http_connections, 256);
}

TEST(Descriptors, GoToTheStoreFirst) {
  for (uint64_t limit = 156; limit < 40'000; limit += limit < 200 ? 1 : 111) {
    const StatusOr<DescriptorPlan> plan = PlanDescriptors(limit, kWishes);
    ASSERT_TRUE(plan.ok()) << limit;
    const auto tables = static_cast<uint64_t>(plan->table_files < 0 ? 16'384 : plan->table_files);
    const auto others = static_cast<uint64_t>(plan->connections + 2 * plan->http_connections);
    EXPECT_GE(tables, 32u);
    EXPECT_GE(plan->connections, 8);
    EXPECT_GE(plan->http_connections, 4);
    // The plan leaves 104 descriptors for logs, compactions and the process itself.
    EXPECT_LE(tables + others + 64 + 40, limit);
  }
}

TEST(Descriptors, AreNoFewerThanWishedForLessThanThereAre) {
  const StatusOr<DescriptorPlan> plan =
      PlanDescriptors(1024, {.connections = 10, .http_connections = 5, .cores = 2});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->connections, 10);
  EXPECT_EQ(plan->http_connections, 5);
}

TEST(Descriptors, TooFewAreRefusedWithTheNumberNeeded) {
  const Status status = PlanDescriptors(100, kWishes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the process may open only 100 files, but needs at least 156"));
  EXPECT_FALSE(PlanDescriptors(155, kWishes).ok());
  EXPECT_TRUE(PlanDescriptors(156, kWishes).ok());
}

TEST(Descriptors, LimitIsRaisedAsFarAsAllowed) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max / 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), limit.rlim_max);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

}  // namespace
}  // namespace freshet
