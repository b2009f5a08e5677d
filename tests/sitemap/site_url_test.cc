#include "tools/sitemap/site_url.h"

#include <gtest/gtest.h>

namespace freshet::sitemap {
namespace {

// A host has one name, however it is written.
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

}  // namespace
}  // namespace freshet::sitemap
