#include "core/base/public_address.h"

#include <optional>

#include "gtest/gtest.h"

namespace freshet {
namespace {

bool Public(const char* text) {
  const std::optional<IpAddress> address = ParseIpAddress(text);
  EXPECT_TRUE(address) << text;
  return address && IsPublicAddress(*address);
}

TEST(PublicAddress, TellsTheInternetFromAllElse) {
  for (const char* text : {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
                           "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
                           "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8",
                           "2606:4700::1111", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888"}) {
    EXPECT_TRUE(Public(text)) << text;
  }
  for (const char* text :
       {"0.1.2.3",           "10.0.0.1",        "10.255.255.255",  "100.64.0.0",
        "100.127.255.255",   "127.0.0.1",       "127.255.255.255", "169.254.169.254",
        "172.16.0.1",        "172.31.255.255",  "192.0.0.8",       "192.0.2.1",
        "192.88.99.1",       "192.168.0.1",     "192.175.48.1",    "198.18.0.1",
        "198.19.255.255",    "198.51.100.1",    "203.0.113.9",     "224.0.0.1",
        "239.255.255.255",   "240.0.0.1",       "255.255.255.255", "::1",
        "::ffff:127.0.0.1",  "::ffff:10.0.0.1", "::127.0.0.1",     "::8.8.8.8",
        "64:ff9b::10.0.0.1", "100::1",          "2001::1",         "2001:db8::1",
        "2002:7f00:1::",     "2620:4f:8000::1", "3fff::1",         "fc00::1",
        "fd12::1",           "fe80::1",         "fec0::1",         "ff02::1"}) {
    EXPECT_FALSE(Public(text)) << text;
  }
  EXPECT_FALSE(IsPublicAddress(IpAddress()));
}

}  // namespace
}  // namespace freshet
