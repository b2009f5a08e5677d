#include "server/base/named_budgets.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

Instant After(double seconds) {
  return Instant::FromUnixSeconds(1000) + Duration::FromSeconds(seconds);
}

TEST(ItemBudget, ASecondsWorthMayComeAtOnceAndWhatIsMoreIsPaidFor) {
  ItemBudget budget(10);
  EXPECT_EQ(budget.Take(10, After(0)), Duration());
  EXPECT_EQ(budget.Take(5, After(0)), Duration::Millis(500));
  EXPECT_EQ(budget.TakeIfLeft(1, After(0.25)), Duration::Millis(250));
  EXPECT_FALSE(budget.Full(After(1)));
  EXPECT_EQ(budget.TakeIfLeft(1, After(1)), Duration());
  EXPECT_TRUE(budget.Full(After(3)));
  // After a long pause, the budget allows only the items of one second at once.
  EXPECT_EQ(budget.Take(20, After(1000)), Duration::Seconds(1));
}

TEST(ItemBudget, AClockThatStepsBackGivesNothing) {
  ItemBudget budget(1);
  EXPECT_EQ(budget.Take(1, After(100)), Duration());
  EXPECT_EQ(budget.Take(1, After(0)), Duration::Seconds(1));
  EXPECT_EQ(budget.Take(0, After(100)), Duration::Seconds(1));
}

TEST(NamedBudgets, EachHasItsOwn) {
  NamedBudgets budgets(10);
  const auto flood = budgets.Of("flood", std::nullopt, After(0));
  EXPECT_EQ(flood->Take(1000, After(0)), Duration::Seconds(99));
  EXPECT_EQ(budgets.Of("good", std::nullopt, After(0))->Take(10, After(0)), Duration());
  // A client that returns under its old name still has its debt.
  EXPECT_EQ(budgets.Of("flood", std::nullopt, After(9)), flood);
  EXPECT_EQ(budgets.Of("flood", std::nullopt, After(9))->TakeIfLeft(1, After(9)),
            Duration::Seconds(90));
}

TEST(NamedBudgets, ARateOfItsOwnWins) {
  NamedBudgets budgets(0);
  EXPECT_EQ(budgets.Of("anybody", std::nullopt, After(0)), nullptr);
  EXPECT_EQ(budgets.Of("one", 5, After(0))->per_second(), 5);
  EXPECT_EQ(budgets.Of("one", 7, After(0))->per_second(), 7) << "it was changed";
}

TEST(NamedBudgets, InventedNamesTakeNoMemory) {
  constexpr size_t kMost = 4;
  NamedBudgets budgets(10, kMost);
  const auto held = budgets.Of("held", std::nullopt, After(0));
  EXPECT_EQ(budgets.Of("owes", std::nullopt, After(0))->Take(1000, After(0)),
            Duration::Seconds(99));
  for (int i = 0; i < 100; ++i) {
    (void)budgets.Of("invented " + std::to_string(i), std::nullopt, After(0.5))
        ->Take(1, After(0.5));
    EXPECT_LE(budgets.size(), kMost);
  }
  // Clients for which there is no room share one budget.
  const auto others = budgets.Of("invented 98", std::nullopt, After(0.5));
  EXPECT_EQ(budgets.Of("invented 99", std::nullopt, After(0.5)), others);
  EXPECT_GT(others->TakeIfLeft(1, After(0.5)), Duration());
  // A client with a configured rate always has a separate budget.
  const auto own = budgets.Of("own", 5, After(0.5));
  EXPECT_EQ(budgets.Of("own", 5, After(0.5)), own);
  // A full budget that nobody uses can be replaced by that of a new client. A budget that is in use
  // or in debt stays.
  const auto later = budgets.Of("later", std::nullopt, After(10));
  EXPECT_NE(later, others);
  EXPECT_EQ(budgets.size(), 4U);
  EXPECT_EQ(budgets.Of("held", std::nullopt, After(10)), held);
  EXPECT_GT(budgets.Of("owes", std::nullopt, After(10))->TakeIfLeft(1, After(10)), Duration());
}

}  // namespace
}  // namespace freshet
