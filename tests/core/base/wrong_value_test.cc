#include "core/base/wrong_value.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(WrongValue, QuotesTheValueAndSaysWhatIsAllowed) {
  EXPECT_EQ(WrongValue("0", "a number above 0"), "'0' is not a number above 0");
  EXPECT_EQ(WrongValue("", "a number"), "'' is not a number");
  EXPECT_EQ(WrongValue("a\nb\x1b", "a name"), "'a\\nb\\x1b' is not a name");
  const std::string is_long(1000, 'x');
  EXPECT_EQ(WrongValue(is_long, "a name"), "'" + is_long.substr(0, 60) + "...' is not a name");
}

TEST(WrongValue, AChoiceIsOneOfFewAndTheNearestIsNamed) {
  EXPECT_EQ(WrongChoice("snyc", {"sync", "wal", "none"}),
            "'snyc' is not one of sync, wal, none, did you mean sync?");
  EXPECT_EQ(WrongChoice("maybe", {"sync", "wal", "none"}), "'maybe' is not one of sync, wal, none");
}

TEST(WrongValue, ANameIsLookedUpAmongMany) {
  EXPECT_EQ(WrongName("gredy", "a policy", {"default", "greedy"}),
            "'gredy' is not a policy, did you mean greedy?");
  EXPECT_EQ(WrongName("best", "a policy", {"default", "greedy"}),
            "'best' is not a policy; these are known: default, greedy");
  EXPECT_EQ(WrongName("best", "a policy", {}), "'best' is not a policy");
  const std::vector<std::string> many(100, "some_name");
  const std::string cut = WrongName("best", "a policy", many);
  EXPECT_TRUE(cut.ends_with("some_name and 70 more")) << cut;
}

TEST(WrongValue, WithoutANearNameNothingIsMeant) {
  EXPECT_EQ(DidYouMean("colour", {"crawl_rate"}), "");
  EXPECT_EQ(DidYouMean("crawlrate", {"crawl_rate"}), ", did you mean crawl_rate?");
}

}  // namespace
}  // namespace freshet
