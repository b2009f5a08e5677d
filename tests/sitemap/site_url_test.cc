#include "tools/sitemap/site_url.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet::sitemap {
namespace {

// All spellings of a host are the same host.
TEST(SiteUrlTest, HostsAreComparedInTheirAsciiForm) {
  const char* const ascii = "xn--bcher-kva.test";
  for (const char* url : {"https://b\u00fccher.test/", "https://B\u00dcCHER.test/map.xml",
                          "https://xn--bcher-kva.test/", "https://XN--BCHER-KVA.test:443/"}) {
    const auto site = ParseSiteUrl(url);
    ASSERT_TRUE(site.ok()) << url << site.status();
    EXPECT_EQ(site->host, ascii) << url;
    EXPECT_EQ(site->origin, std::string("https://") + ascii) << url;
  }
  EXPECT_EQ(ParseSiteUrl("http://[2001:DB8::1]:8080/")->host, "[2001:db8::1]");
  EXPECT_EQ(ParseSiteUrl("http://127.0.0.1/")->host, "127.0.0.1");
}

// A site can name thousands of hosts of 16 KB. Converting them would take a minute.
TEST(SiteUrlTest, NamesThatAreFarTooLongAreNotConverted) {
  std::string long_name = "a";
  for (int i = 0; i < 600; ++i) long_name += "\u00ad";  // soft hyphens: names drop them
  EXPECT_EQ(ParseSiteUrl("https://a\u00ad.test/")->host, "a.test");
  EXPECT_NE(ParseSiteUrl("https://" + long_name + ".test/")->host, "a.test");
}

}  // namespace
}  // namespace freshet::sitemap
