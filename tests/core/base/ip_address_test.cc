#include "core/base/ip_address.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

std::string OneText(std::string_view text) {
  const std::optional<IpAddress> address = ParseIpAddress(text);
  return address ? IpAddressText(*address) : "none";
}

TEST(IpAddress, EveryAddressHasOneText) {
  EXPECT_EQ(OneText("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(OneText("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(OneText("::FFFF:c000:0201"), "192.0.2.1");
  EXPECT_EQ(OneText("2001:DB8:0:0::1"), "2001:db8::1");
  EXPECT_EQ(OneText("[2001:db8::1]"), "2001:db8::1");
  EXPECT_EQ(OneText("::1"), "::1");
  EXPECT_EQ(OneText("255.255.255.255"), "255.255.255.255");
  EXPECT_EQ(IpAddressText(IpAddress()), "");
}

TEST(IpAddress, IsIpv4InEitherSpelling) {
  EXPECT_EQ(IpAddress::OfIpv4(0xC0000201), ParseIpAddress("192.0.2.1"));
  EXPECT_EQ(IpAddress::OfIpv4(0xC0000201), ParseIpAddress("::ffff:c000:201"));
  EXPECT_EQ(ParseIpAddress("::ffff:192.0.2.1")->ipv4(), 0xC0000201u);
  for (const char* text : {"::c000:201", "::1", "0:0:0:0:1:ffff:c000:201", "2001:db8::1"}) {
    EXPECT_EQ(ParseIpAddress(text)->ipv4(), std::nullopt) << text;
  }
  EXPECT_EQ(IpAddress().ipv4(), std::nullopt);
}

// Only browsers read these forms as addresses. Here they are more likely mistakes.
TEST(IpAddress, OtherTextsAreNone) {
  for (const char* text :
       {"", "1", "127.1", "0x7f000001", "192.0.2.1.", "192.0.2.01", "192.0.2.256", "0.0.0.0",
        "::", "[::]", "[", "[]", "fe80::1%eth0", "192.0.2.1:80", "[2001:db8::1]:80", "a.example",
        " 192.0.2.1", "1:2:3:4:5:6:7:8:9"}) {
    EXPECT_EQ(OneText(text), "none") << text;
  }
  EXPECT_EQ(OneText(std::string(1 << 20, ':')), "none");
  EXPECT_EQ(OneText(std::string("192.0.2.1\0x", 11)), "none");
}

}  // namespace
}  // namespace freshet
