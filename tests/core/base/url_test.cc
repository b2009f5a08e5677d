#include "core/base/url.h"

#include <string>
#include <vector>

#include "core/base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

std::string Canonical(std::string_view url) {
  const auto result = Canonicalise(url);
  return result.ok() ? result->text : "error: " + std::string(result.status().message());
}

TEST(Canonicalise, BringsSpellingsOfOnePageTogether) {
  EXPECT_EQ(Canonical("HTTP://Example.COM:80"), "http://example.com/");
  EXPECT_EQ(Canonical("https://example.com:443/a/./b/../c#part"), "https://example.com/a/c");
  EXPECT_EQ(Canonical("https://example.com:8443/?q=1"), "https://example.com:8443/?q=1");
  EXPECT_EQ(Canonical("https://example.com/%7euser/%c3%a9"), "https://example.com/~user/%C3%A9");
  EXPECT_EQ(Canonical("https://example.com/é"), "https://example.com/%C3%A9");
  EXPECT_EQ(Canonical("https://bücher.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(Canonical("https://example.com?x=[1]"), "https://example.com/?x=%5B1%5D");
}

TEST(Canonicalise, AcceptsWhatRealSitesUse) {
  EXPECT_EQ(Canonical("https://tldr.sh/pages.ar/common/%"), "https://tldr.sh/pages.ar/common/%25");
  EXPECT_EQ(Canonical("https://tldr.sh/pages/common/[["), "https://tldr.sh/pages/common/%5B%5B");
  EXPECT_EQ(Canonical("https://tldr.sh/pages/common/^"), "https://tldr.sh/pages/common/%5E");
  EXPECT_EQ(Canonical("http://under_score.example/"), "http://under_score.example/");
  EXPECT_EQ(Canonical("http://[2001:DB8::1]:8080/x"), "http://[2001:db8::1]:8080/x");
}

TEST(Canonicalise, IsIdempotent) {
  const std::vector<std::string> urls = {
      "https://tldr.sh/pages.ar/common/%", "HTTP://Example.COM:80/a//b/?q=%41&r=ü",
      "https://example.com/a%2Fb", "https://example.com/..%2f/../x", "https://bücher.example/%zz"};
  for (const std::string& url : urls) {
    const std::string once = Canonical(url);
    EXPECT_EQ(Canonical(once), once) << url;
  }
}

TEST(Canonicalise, RefusesWithAReason) {
  EXPECT_THAT(Canonical(""), HasSubstr("empty"));
  EXPECT_THAT(Canonical("example.com/x"), HasSubstr("not absolute"));
  EXPECT_THAT(Canonical("ftp://example.com/"), HasSubstr("scheme"));
  EXPECT_THAT(Canonical("https:///x"), HasSubstr("host is missing"));
  EXPECT_THAT(Canonical("https://#x"), HasSubstr("host is missing"));
  EXPECT_THAT(Canonical("https://user:pw@example.com/"), HasSubstr("user information"));
  EXPECT_THAT(Canonical("https://example.com/a b"), HasSubstr("space"));
  EXPECT_THAT(Canonical("https://example.com/a\nb"), HasSubstr("control character at byte 21"));
  EXPECT_THAT(Canonical("https://example.com/\xff"), HasSubstr("UTF-8 at byte 20"));
  EXPECT_THAT(Canonical("https://example.com/\xc0\xaf"), HasSubstr("UTF-8"));
  EXPECT_THAT(Canonical("https://example.com:99999/"), HasSubstr("url: "));
  EXPECT_THAT(Canonical("https://example.com:0/"), HasSubstr("url: "));
  EXPECT_THAT(Canonical("https://[::1/"), HasSubstr("url: "));
  EXPECT_THAT(Canonical("https://exa%mple.com/"), HasSubstr("url: "));
  EXPECT_THAT(Canonical("https://example.com/" + std::string(100'000, 'a')),
              HasSubstr("at most 8192"));
  EXPECT_THAT(Canonical("https://example.com/" + std::string(8000, '[')),
              HasSubstr("once escaped"));
}

TEST(CanonicalCrawlId, EmptyMeansDefault) {
  EXPECT_EQ(*CanonicalCrawlId(""), "DEFAULT");
  EXPECT_EQ(*CanonicalCrawlId("news"), "news");
  EXPECT_FALSE(CanonicalCrawlId("a b").ok());
  EXPECT_FALSE(CanonicalCrawlId(std::string(65, 'x')).ok());
}

// Stored keys depend on these numbers: a change here would lose every page of an existing database.
TEST(Hashes, AreFrozen) {
  EXPECT_EQ(SlotOfHost("www.php.net").value(), 571);
  EXPECT_EQ(SlotOfHost("example.com").value(), 2931);
  EXPECT_EQ(Fingerprint("DEFAULT", "https://example.com/"), 14389775069857898967u);
}

}  // namespace
}  // namespace freshet
