#include "core/base/url.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

std::string Canonical(std::string_view url) {
  const auto result = Canonicalise(url);
  return result.ok() ? result->text : "error: " + std::string(result.status().message());
}

std::string Host(std::string_view url) {
  const auto result = Canonicalise(url);
  return result.ok() ? result->host : "error: " + std::string(result.status().message());
}

TEST(Canonicalise, BringsSpellingsOfOnePageTogether) {
  EXPECT_EQ(Canonical("HTTP://Example.COM:80"), "http://example.com/");
  EXPECT_EQ(Canonical("https://example.com:443/a/./b/../c#part"), "https://example.com/a/c");
  EXPECT_EQ(Canonical("https://example.com:8443/?q=1"), "https://example.com:8443/?q=1");
  EXPECT_EQ(Canonical("https://example.com/é"), "https://example.com/%C3%A9");
  EXPECT_EQ(Canonical("https://example.com?x=[1]"), "https://example.com/?x=[1]");
  EXPECT_EQ(Canonical("  https://example.com/a b "), "https://example.com/a%20b");
  EXPECT_EQ(Canonical("https:////example.com/"), "https://example.com/");
  EXPECT_EQ(Canonical("https:\\\\example.com\\a\\..\\b?c\\d"), "https://example.com/b?c\\d");
  EXPECT_EQ(Canonical("https://example.com/#a?b#c"), "https://example.com/");
}

// A server can treat an escape differently from the character that it stands for.
TEST(Canonicalise, LeavesEscapesAsTheyAre) {
  for (const std::string_view url :
       {"https://example.com/group%2Fproj", "https://example.com/group%2fproj",
        "https://example.com/?q=%26x", "https://example.com/?q=a%2Bb", "https://example.com/a%2Bb",
        "https://example.com/?next=https%3A%2F%2Fother.example%2F%3Fa%3Db%26c%23d",
        "https://example.com/%7euser/%c3%a9", "https://example.com/%41", "https://example.com/%",
        "https://example.com/%zz?%", "https://example.com/100%25", "https://example.com/a%5Eb^c|d",
        "https://example.com/..%2f/%2e%2e%2e/x", "https://example.com/?a=./../b"}) {
    EXPECT_EQ(Canonical(url), url);
  }
}

TEST(Canonicalise, EscapesWhatTheStandardForbids) {
  EXPECT_EQ(Canonical("http://x/ \"<>`{}'"), "http://x/%20%22%3C%3E%60%7B%7D'");
  EXPECT_EQ(Canonical("http://x/? \"<>'`{}"), "http://x/?%20%22%3C%3E%27`{}");
  EXPECT_EQ(Canonical("http://x/!$&'()*+,-./:;=@[]^_|~"), "http://x/!$&'()*+,-./:;=@[]^_|~");
  EXPECT_EQ(Canonical("http://x/?\\ü?"), "http://x/?\\%C3%BC?");
}

TEST(Canonicalise, ResolvesDotSegments) {
  EXPECT_EQ(Canonical("http://x/../x"), "http://x/x");
  EXPECT_EQ(Canonical("http://x/a/.."), "http://x/");
  EXPECT_EQ(Canonical("http://x/a/."), "http://x/a/");
  EXPECT_EQ(Canonical("http://x/a/%2E%2e/b/%2e/c/.%2e"), "http://x/b/");
  EXPECT_EQ(Canonical("http://x//..//a//../b"), "http://x//a/b");
  EXPECT_EQ(Canonical("http://x/.../.a/a."), "http://x/.../.a/a.");
  EXPECT_EQ(Canonical("http://x/?"), "http://x/?");
}

TEST(Canonicalise, KnowsPorts) {
  EXPECT_EQ(Canonical("http://x:08080/"), "http://x:8080/");
  EXPECT_EQ(Canonical("http://x:00080/"), "http://x/");
  EXPECT_EQ(Canonical("http://x:/a"), "http://x/a");
  EXPECT_EQ(Canonical("http://x:443/"), "http://x:443/");
  EXPECT_EQ(Canonical("https://x:0/"), "https://x:0/");
  EXPECT_EQ(Canonical("https://x:65535/"), "https://x:65535/");
  for (const std::string port :
       {"65536", "99999999999999999999", "-1", "+1", "8 0", "8a", "80:80"}) {
    EXPECT_THAT(Canonical("https://x:" + port + "/"), HasSubstr("url: port must be 0 to 65535"));
  }
}

TEST(Canonicalise, ReadsIpv4InAllItsSpellings) {
  for (const std::string_view host :
       {"127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0X7F000001", "2130706433", "0177.0.0.01",
        "127.0.0.1.", "%31%32%37.1", "１２７。0．0.1"}) {
    const std::string url = fmt::format("http://{}/", host);
    EXPECT_EQ(Canonical(url), "http://127.0.0.1/") << host;
    EXPECT_EQ(Host(url), "127.0.0.1") << host;
  }
  EXPECT_EQ(Canonical("http://1.2.3.4./"), "http://1.2.3.4/");
  EXPECT_EQ(Canonical("http://0x/"), "http://0.0.0.0/");
  for (const std::string_view host : {"256.1.1.1", "1.2.3.256", "4294967296", "1.2.3.4.5", "1..2",
                                      "a.1", "09.1", "0x100.0", "1.0x1000000", "name.0xg.9"}) {
    EXPECT_THAT(Canonical(fmt::format("http://{}/", host)), HasSubstr("not a valid IPv4 address"))
        << host;
  }
}

TEST(Canonicalise, TakesNamesWithNumbersForNames) {
  for (const std::string_view host : {"34.90.12.7.bc.googleusercontent.com", "1.2.3.4.a",
                                      "1.2.3.4x", "0x1g", "1.0xg", "1e3", "4chan.org"}) {
    const std::string url = fmt::format("http://{}/", host);
    EXPECT_EQ(Canonical(url), url);
    EXPECT_EQ(Host(url), host);
  }
}

TEST(Canonicalise, CompressesIpv6) {
  const auto host = [](std::string_view text) {
    return Host(fmt::format("http://[{}]:81/", text));
  };
  EXPECT_EQ(Canonical("http://[2001:DB8::1]:8080/x"), "http://[2001:db8::1]:8080/x");
  EXPECT_EQ(host("2001:0db8:0:0:0:0:0:1"), "[2001:db8::1]");
  EXPECT_EQ(host("::"), "[::]");
  EXPECT_EQ(host("0:0:0:0:0:0:0:0"), "[::]");
  EXPECT_EQ(host("1::"), "[1::]");
  EXPECT_EQ(host("1:0:0:2:0:0:0:3"), "[1:0:0:2::3]");
  EXPECT_EQ(host("0:0:1:0:0:1:0:0"), "[::1:0:0:1:0:0]");
  EXPECT_EQ(host("1:0:2:3:4:5:6:7"), "[1:0:2:3:4:5:6:7]");
  EXPECT_EQ(host("1::2:3:4:5:6:7"), "[1:0:2:3:4:5:6:7]");
  EXPECT_EQ(host("::ffff:1.2.3.4"), "[::ffff:102:304]");
  EXPECT_EQ(host("1:2:3:4:5:6:1.2.3.4"), "[1:2:3:4:5:6:102:304]");
  for (const std::string_view text : {"",
                                      ":",
                                      ":1",
                                      "1:",
                                      "1",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1:2:3:4:5:6:7:8::",
                                      "::1:2:3:4:5:6:7:8",
                                      "1::2::3",
                                      ":::",
                                      "12345::",
                                      "g::",
                                      "::1%25eth0",
                                      "::1.2.3",
                                      "::1.2.3.4.5",
                                      "::1.2.3.256",
                                      "::01.2.3.4",
                                      "::1.2.3.4:1",
                                      "1:2:3:4:5:6:7:1.2.3.4",
                                      "::.1.2.3",
                                      "[::1]",
                                      "%3A%3A1"}) {
    EXPECT_THAT(host(text), HasSubstr("not a valid IPv6 address")) << text;
  }
}

TEST(Canonicalise, BringsNamesIntoAscii) {
  EXPECT_EQ(Canonical("https://bücher.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(Canonical("https://BÜCHER。example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(Canonical("https://b%C3%BCcher.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(Canonical("https://XN--Bcher-KVA.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(Canonical("https://faß.example/"), "https://xn--fa-hia.example/");
  EXPECT_EQ(Canonical("https://💩.example/"), "https://xn--ls8h.example/");
  EXPECT_EQ(Canonical("https://ex%41mple.com/"), "https://example.com/");
  for (const std::string_view host : {"under_score.example", "-a-.example", "ab--c.example", "a..b",
                                      "!$&'()*+,;=.example", "axn--b.example"}) {
    EXPECT_EQ(Canonical(fmt::format("http://{}/", host)), fmt::format("http://{}/", host));
  }
  for (const std::string_view host :
       {"xn--", "xn--a", "xn--zn7c.example", "\u00AD", "a\u200Db", "\u0300a", "exa%mple.com",
        "a%20b", "a%00b", "a%2Fb", "a%ff", "a<b", "a^b", "a|b", "a b", "a[b]", "％６１"}) {
    EXPECT_THAT(Canonical(fmt::format("http://{}/", host)), HasSubstr("url: host ")) << host;
  }
}

TEST(Canonicalise, TakesTheTrailingDotFromTheMachineAlone) {
  EXPECT_EQ(Canonical("http://Example.com./a"), "http://example.com./a");
  EXPECT_EQ(Host("http://Example.com./a"), "example.com");
  EXPECT_EQ(Host("http://example.com.:81/a"), "example.com");
  EXPECT_EQ(Host("http://bücher.example。/a"), "xn--bcher-kva.example");
  EXPECT_THAT(Canonical("http://./"), HasSubstr("host is missing"));
}

TEST(Canonicalise, IsIdempotent) {
  const std::vector<std::string> urls = {
      "https://tldr.sh/pages.ar/common/%", "HTTP://Example.COM:80/a//b/?q=%41&r=ü",
      "https://example.com/a%2Fb",         "https://example.com/..%2f/../x",
      "https://bücher.example/%zz",        "http://1.2.3.4./",
      "http://[::FFFF:1.2.3.4]:0080/%2e",  "http://x/a%\"2e"};
  for (const std::string& url : urls) {
    const std::string once = Canonical(url);
    EXPECT_EQ(Canonical(once), once) << url;
    EXPECT_EQ(Host(once), Host(url)) << url;
  }
}

TEST(Canonicalise, RefusesWithAReason) {
  EXPECT_THAT(Canonical(""), HasSubstr("empty"));
  EXPECT_THAT(Canonical("   "), HasSubstr("empty"));
  EXPECT_THAT(Canonical("example.com/x"), HasSubstr("not absolute"));
  EXPECT_THAT(Canonical("//example.com/x"), HasSubstr("not absolute"));
  EXPECT_THAT(Canonical("http:example.com"), HasSubstr("not absolute"));
  EXPECT_THAT(Canonical("http:/example.com"), HasSubstr("not absolute"));
  EXPECT_THAT(Canonical("http"), HasSubstr("not absolute"));
  EXPECT_THAT(Canonical("ftp://example.com/"), HasSubstr("scheme"));
  EXPECT_THAT(Canonical("httpss://example.com/"), HasSubstr("scheme"));
  EXPECT_THAT(Canonical("https://"), HasSubstr("host is missing"));
  EXPECT_THAT(Canonical("https://?x"), HasSubstr("host is missing"));
  EXPECT_THAT(Canonical("https://:80/"), HasSubstr("host is missing"));
  EXPECT_THAT(Canonical("https://#x"), HasSubstr("host is missing"));
  EXPECT_THAT(Canonical("https://user:pw@example.com/"), HasSubstr("user information"));
  EXPECT_THAT(Canonical("https://@example.com/"), HasSubstr("user information"));
  EXPECT_THAT(Canonical("https://example.com/a\nb"), HasSubstr("control character at byte 21"));
  EXPECT_THAT(Canonical("https://example.com/\t"), HasSubstr("control character"));
  EXPECT_THAT(Canonical("https://example.com/\x7F"), HasSubstr("control character"));
  EXPECT_THAT(Canonical("https://example.com/\xff"), HasSubstr("UTF-8 at byte 20"));
  EXPECT_THAT(Canonical("https://example.com/\xc0\xaf"), HasSubstr("UTF-8"));
  EXPECT_THAT(Canonical("https://[::1/"), HasSubstr("bracket"));
}

TEST(Canonicalise, HoldsToItsLimits) {
  const std::string start = "https://example.com/";
  EXPECT_EQ(Canonical(start + std::string(8192 - start.size(), 'a')).size(), 8192);
  EXPECT_THAT(Canonical(start + std::string(8193 - start.size(), 'a')), HasSubstr("at most 8192"));
  EXPECT_THAT(Canonical(start + std::string(8000, '{')), HasSubstr("after escaping"));
  const auto with_host = [](const std::string& host) { return Canonical("http://" + host + "/"); };
  EXPECT_EQ(with_host(std::string(253, 'a')), "http://" + std::string(253, 'a') + "/");
  EXPECT_EQ(with_host(std::string(253, 'a') + "."), "http://" + std::string(253, 'a') + "./");
  EXPECT_THAT(with_host(std::string(254, 'a')), HasSubstr("longer than 253 bytes"));
  std::string umlauts;
  for (int i = 0; i < 500; ++i) umlauts += "ü";
  EXPECT_THAT(with_host(umlauts), HasSubstr("longer than 253 bytes"));
  EXPECT_THAT(with_host(umlauts + umlauts), HasSubstr("longer than 253 bytes"));
}

TEST(CanonicalCrawlId, EmptyMeansDefault) {
  EXPECT_EQ(*CanonicalCrawlId(""), "DEFAULT");
  EXPECT_EQ(*CanonicalCrawlId("news"), "news");
  EXPECT_FALSE(CanonicalCrawlId("a b").ok());
  EXPECT_FALSE(CanonicalCrawlId(std::string(65, 'x')).ok());
}

// Stored keys depend on these numbers. If they changed, every page of an existing database would be
// lost.
TEST(Hashes, AreFrozen) {
  EXPECT_EQ(SlotOfHost("www.php.net").value(), 571);
  EXPECT_EQ(SlotOfHost("example.com").value(), 2931);
}

}  // namespace
}  // namespace freshet
