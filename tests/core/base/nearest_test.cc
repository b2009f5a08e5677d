#include "core/base/nearest.h"

#include <algorithm>
#include <string>
#include <vector>

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

TEST(EditDistance, LooksNoFurtherThanItIsAsked) {
  EXPECT_EQ(EditDistance("sitting", "kitten", 3), 3u);
  EXPECT_EQ(EditDistance("sitting", "kitten", 2), 3u);
  EXPECT_EQ(EditDistance("sitting", "kitten", 0), 1u);
  EXPECT_EQ(EditDistance("sit", "sitting", 3), 4u);
  EXPECT_EQ(EditDistance("abcdef", "badcfe", 3), 3u);
  const std::vector<std::string> texts = {"",     "a",     "ab",    "ba",     "abc",   "acb",
                                          "cab",  "abcd",  "badc",  "dcba",   "abcab", "bacba",
                                          "aaaa", "aaaab", "baaaa", "abcabc", "bcabca"};
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      for (size_t most = 0; most < 7; ++most) {
        EXPECT_EQ(EditDistance(a, b, most), std::min(EditDistance(a, b), most + 1)) << a << b;
      }
    }
  }
  // Comparing all letters of one text with all letters of the other would take minutes.
  const std::string many(300'000, 'a');
  EXPECT_EQ(EditDistance(many + "b", many + "c", 3), 1u);
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"crawl_rate", "limits",     "limits.streams",
                                          "tls.key",    "leases.max", "limits.workers"};
  EXPECT_EQ(Nearest("crawlrate", names), "crawl_rate");
  EXPECT_EQ(Nearest("limits.streems", names), "limits.streams");
  EXPECT_EQ(Nearest("limit", names), "limits");
  // In these keys, the section is wrong or missing.
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
