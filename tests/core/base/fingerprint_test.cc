#include "core/base/fingerprint.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace freshet {
namespace {

FingerprintSecret Counting() {
  FingerprintSecret secret;
  for (size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<uint8_t>(i);
  return secret;
}

// The example in the paper on SipHash (Aumasson and Bernstein, appendix A): the bytes 0, 1, ...,
// 14.
TEST(Fingerprinter, IsSipHash24OfCrawlIdZeroUrl) {
  std::string url;
  for (char c = 1; c < 15; ++c) url += c;
  EXPECT_EQ(Fingerprinter(Counting()).Of("", url), 0xa129ca6149be45e5u);
}

TEST(Fingerprinter, DependsOnSecretCrawlIdAndUrl) {
  const Fingerprinter one(Counting());
  FingerprintSecret other = Counting();
  other[15] ^= 1;
  std::set<uint64_t> all;
  for (const Fingerprinter& fingerprinter : {one, Fingerprinter(other), Fingerprinter()}) {
    for (const std::string crawl : {"DEFAULT", "DEFAULTh", "x"}) {
      for (const std::string url : {"http://a/", "ttp://a/", "http://a/b"}) {
        all.insert(fingerprinter.Of(crawl, url));
      }
    }
  }
  EXPECT_EQ(all.size(), 27u);
  EXPECT_EQ(one.Of("DEFAULT", "http://a/"), Fingerprinter(Counting()).Of("DEFAULT", "http://a/"));
}

TEST(Fingerprinter, TakesTextsOfAnyLength) {
  const Fingerprinter fingerprinter(Counting());
  std::set<uint64_t> all;
  for (size_t length = 0; length < 1200; ++length) {
    all.insert(fingerprinter.Of("c", std::string(length, 'u')));
  }
  EXPECT_EQ(all.size(), 1200u);
}

TEST(Fingerprinter, FewBitsMakeFewFingerprints) {
  std::set<uint64_t> all;
  const Fingerprinter narrow(Counting(), 2);
  for (int i = 0; i < 100; ++i) all.insert(narrow.Of("c", std::to_string(i)));
  EXPECT_EQ(all, (std::set<uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Fingerprinter(Counting(), 0).Of("c", "u"), 0u);
}

TEST(HashOfTexts, DependsOnBoth) {
  EXPECT_NE(HashOfTexts("a", "b"), HashOfTexts("b", "a"));
  EXPECT_NE(HashOfTexts("a", "b"), HashOfTexts("a", "c"));
}

}  // namespace
}  // namespace freshet
