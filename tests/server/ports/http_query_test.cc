#include "server/ports/http_query.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(HttpQuery, NamesAndValuesAreUnescaped) {
  EXPECT_THAT(*ParseQuery(""), ElementsAre());
  EXPECT_THAT(*ParseQuery("url=http%3A%2F%2Fa.test%2F%3Fq%3D1&crawl_id="),
              ElementsAre(Pair("url", "http://a.test/?q=1"), Pair("crawl_id", "")));
  EXPECT_THAT(*ParseQuery("a=1+2&b"), ElementsAre(Pair("a", "1+2"), Pair("b", "")));
}

TEST(HttpQuery, WhatIsNoQueryIsNamed) {
  for (const char* bad : {"a=%", "a=%4", "a=%zz", "a=1&a=2", "%=1"}) {
    EXPECT_FALSE(ParseQuery(bad).ok()) << bad;
  }
  EXPECT_THAT(std::string(ParseQuery("a=%zz").status().message()),
              HasSubstr("a: has a malformed %-escape"));
}

}  // namespace
}  // namespace freshet
