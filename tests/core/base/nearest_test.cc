#include "core/base/nearest.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(EditDistance, CountsLettersThatAreWrong) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("streams", "streams"), 0u);
  EXPECT_EQ(EditDistance("streems", "streams"), 1u);
  EXPECT_EQ(EditDistance("sterams", "streams"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3u);
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"crawl_rate", "limits",     "limits.streams",
                                          "tls.key",    "leases.max", "limits.workers"};
  EXPECT_EQ(Nearest("crawlrate", names), "crawl_rate");
  EXPECT_EQ(Nearest("limits.streems", names), "limits.streams");
  EXPECT_EQ(Nearest("limit", names), "limits");
  // In the wrong section, or in none.
  EXPECT_EQ(Nearest("streams", names), "limits.streams");
  EXPECT_EQ(Nearest("workers.streams", names), "limits.streams");
}

TEST(Nearest, SaysNothingWhereNothingIsNear) {
  const std::vector<std::string> names = {"crawl_rate", "limits.streams"};
  for (const std::string& name : {std::string("colour"), std::string(""), std::string("x"),
                                  std::string(100'000, 'x'), std::string("limits.bananas")}) {
    EXPECT_EQ(Nearest(name, names), "") << name.substr(0, 20);
  }
}

}  // namespace
}  // namespace freshet
