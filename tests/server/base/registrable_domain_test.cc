#include "server/base/registrable_domain.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(RegistrableDomain, IsWhatSomebodyHasRegistered) {
  EXPECT_EQ(RegistrableDomainOf("example.org"), "example.org");
  EXPECT_EQ(RegistrableDomainOf("www.example.org"), "example.org");
  EXPECT_EQ(RegistrableDomainOf("a.b.c.example.co.uk"), "example.co.uk");
  // The domain of a name that is in no list is its last two labels.
  EXPECT_EQ(RegistrableDomainOf("h17.evil.example"), "evil.example");
  // Names in other scripts are in Punycode, as in canonical URLs.
  EXPECT_EQ(RegistrableDomainOf("www.xn--85x722f.xn--55qx5d.cn"), "xn--85x722f.xn--55qx5d.cn");
}

TEST(RegistrableDomain, OfWhatHasNoneIsItself) {
  for (const char* host : {"", "localhost", "org", "co.uk", "192.0.2.1", "[2001:db8::1]"}) {
    EXPECT_EQ(RegistrableDomainOf(host), host);
  }
}

}  // namespace
}  // namespace freshet
