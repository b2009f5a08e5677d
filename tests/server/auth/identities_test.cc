#include "server/auth/identities.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/auth/certificate_name.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The SHA-256 of "test", as sha256sum prints it.
constexpr const char* kTestDigest =
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

std::string ParseError(const std::string& yaml) {
  const StatusOr<Identities> identities = Identities::Parse(yaml);
  return identities.ok() ? "" : std::string(identities.status().message());
}

// Returns a file with one identity: a name, a token, and these lines.
std::string FileWith(const std::string& lines) {
  return "identities:\n  - name: a\n    token_sha256: " + std::string(kTestDigest) + "\n" + lines;
}

TEST(CertificateName, EachTextIsOfOneKind) {
  for (const char* text : {"10.0.0.5", "::1", "2001:db8::7"}) {
    EXPECT_EQ(KindOfName(text), NameKind::kIp) << text;
  }
  for (const char* text : {"spiffe://example.org/fleet", "https://me@example.org/", "urn:a:b"}) {
    EXPECT_EQ(KindOfName(text), NameKind::kUri) << text;
  }
  EXPECT_EQ(KindOfName("fleet@example.org"), NameKind::kMail);
  for (const char* text : {"fleet.example.org", "10.0.0.5.example.org", "10.0.0", ""}) {
    EXPECT_EQ(KindOfName(text), NameKind::kDns) << text;
  }
}

TEST(Identities, DigestIsThatOfTheStandard) {
  EXPECT_EQ(HexOf(DigestOf("test")), kTestDigest);
  EXPECT_EQ(ParseDigest(kTestDigest), DigestOf("test"));
  EXPECT_FALSE(ParseDigest(std::string(kTestDigest).substr(1)).has_value());
  EXPECT_FALSE(ParseDigest(std::string(63, '0') + "g").has_value());
}

TEST(Identities, AreFoundByTokenAndByCertificate) {
  const StatusOr<Identities> all = Identities::Parse(R"(
identities:
  - name: fleet
    certificate: [spiffe://example.org/fleet, worker.example.org]
    roles: [worker]
  - name: site
    token_sha256: [)" + std::string(kTestDigest) + ", " +
                                                     HexOf(DigestOf("next")) + R"(]
    roles: [ingester, reader]
    hosts: [Example.ORG]
    crawl_ids: news
    sources: [cdn]
    items_per_second: 2.5
)");
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 2u);
  const auto site = all->OfToken(DigestOf("test"));
  ASSERT_NE(site, nullptr);
  EXPECT_EQ(site->name, "site");
  EXPECT_EQ(site->roles, kIngester | kReader);
  EXPECT_THAT(*site->hosts, ElementsAre("example.org"));
  EXPECT_THAT(*site->crawl_ids, ElementsAre("news"));
  EXPECT_THAT(*site->sources, ElementsAre("cdn"));
  EXPECT_EQ(site->items_per_second, 2.5);
  EXPECT_EQ(site->limits(), kHosts | kCrawlIds | kSources);
  EXPECT_EQ(all->OfToken(DigestOf("next")), site);
  EXPECT_EQ(all->OfToken(DigestOf("other")), nullptr);
  const auto fleet = all->OfCertificate({"unknown", "worker.example.org"});
  ASSERT_NE(fleet, nullptr);
  EXPECT_EQ(fleet->name, "fleet");
  EXPECT_EQ(all->OfCertificate({"example.org"}), nullptr);
  EXPECT_EQ(all->OfCertificate({}), nullptr);
}

TEST(Identities, NamesWhatIsWrongWithAFile) {
  EXPECT_THAT(ParseError(""), HasSubstr("`identities`"));
  EXPECT_THAT(ParseError("identities: []"), HasSubstr("is not a list"));
  EXPECT_THAT(ParseError("identities: [x]"),
              HasSubstr("identity 1: must be a map of keys to values"));
  EXPECT_THAT(ParseError("other: 1\nidentities: [x]"), HasSubstr("must have one key"));
  EXPECT_THAT(ParseError(FileWith("    roles: [king]")), HasSubstr("'king' is not one of worker"));
  EXPECT_THAT(ParseError(FileWith("")), HasSubstr("roles: is missing"));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n    hosts: ['a b']")),
              HasSubstr("hosts: 'a b' is not a host"));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n    hosts: []")),
              HasSubstr("hosts: must be a string"));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n    host: [a]")),
              HasSubstr("host: unknown key"));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n    items_per_second: 0")),
              HasSubstr("items_per_second: "));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n    roles: [admin]")),
              HasSubstr("is given twice"));
  EXPECT_THAT(ParseError("identities:\n  - name: a\n    roles: [reader]"),
              HasSubstr("token_sha256: is missing"));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n") + "  - name: a\n    certificate: [x]\n" +
                         "    roles: [reader]"),
              HasSubstr("'a' is there twice"));
  EXPECT_THAT(ParseError(FileWith("    roles: [reader]\n") +
                         "  - name: b\n    token_sha256: " + kTestDigest + "\n    roles: [reader]"),
              HasSubstr("another identity has the token of 'b' too"));
  EXPECT_THAT(ParseError("a: [" + std::string(kMaxAuthFileBytes, ' ') + "]"), HasSubstr("limit"));
}

TEST(Identities, LimitsWorkersToCrawlIdsAlone) {
  EXPECT_EQ(ParseError(FileWith("    roles: [worker]\n    crawl_ids: [news]")), "");
  EXPECT_THAT(
      ParseError(FileWith("    roles: [worker]\n    crawl_ids: [news]\n    sources: [cdn]")),
      HasSubstr("cannot be limited to hosts or sources"));
}

TEST(Identities, DoesNotPretendToLimitWorkersAndAdmins) {
  EXPECT_THAT(ParseError(FileWith("    roles: [worker]\n    hosts: [a.test]")),
              HasSubstr("cannot be limited"));
  EXPECT_THAT(ParseError(FileWith("    roles: [admin, reader]\n    crawl_ids: [news]")),
              HasSubstr("cannot be limited"));
  EXPECT_EQ(ParseError(FileWith("    roles: [worker]\n    items_per_second: 5")), "");
}

// A file might contain a token where its hash belongs. The token must not get into the log.
TEST(Identities, NeverQuotesWhatMayBeASecret) {
  EXPECT_THAT(ParseError("identities:\n  - name: a\n    token_sha256: hunter2\n"),
              testing::AllOf(HasSubstr("64 hexadecimal digits"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(ParseError("identities: [hunter2: [}"),
              testing::AllOf(HasSubstr("is not valid YAML, line 1"), Not(HasSubstr("hunter2"))));
}

TEST(Identities, AHostIsWithinADomainByWholeLabels) {
  EXPECT_TRUE(IsWithin("example.org", "example.org"));
  EXPECT_TRUE(IsWithin("www.example.org", "example.org"));
  EXPECT_TRUE(IsWithin("a.b.example.org", "example.org"));
  EXPECT_FALSE(IsWithin("badexample.org", "example.org"));
  EXPECT_FALSE(IsWithin("example.org.evil.test", "example.org"));
  EXPECT_FALSE(IsWithin("org", "example.org"));
  EXPECT_FALSE(IsWithin("", "example.org"));
  EXPECT_TRUE(IsWithin("1.2.3.4", "1.2.3.4"));
  EXPECT_FALSE(IsWithin("1.2.3.4", "3.4"));
  EXPECT_FALSE(IsWithin("[::1]", "1]"));
}

}  // namespace
}  // namespace freshet
