#include "server/auth/authoriser.h"

#include <set>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kStats = "/freshet.v1.AdminService/GetStatistics";
constexpr const char* kSignals = "/freshet.v1.IngestService/SignalChanges";
constexpr const char* kUpserts = "/freshet.v1.PagesService/UpsertPages";

Credentials Bearer(const std::string& token) {
  Credentials credentials;
  credentials.AddAuthorization("Bearer " + token);
  return credentials;
}

Credentials Certificate(std::vector<std::string> names) {
  Credentials credentials;
  credentials.certificate = true;
  credentials.names = std::move(names);
  return credentials;
}

// Returns some identities, whose tokens have the same names.
Identities Some() {
  std::string yaml = "identities:\n";
  const auto add = [&yaml](const std::string& name, const std::string& rest) {
    yaml += "  - name: " + name + "\n    token_sha256: " + HexOf(DigestOf(name)) +
            "\n    certificate: " + name + ".test\n" + rest;
  };
  add("reader", "    roles: [reader]\n");
  add("admin", "    roles: [admin]\n");
  add("site", "    roles: [ingester]\n    hosts: [a.test]\n    sources: [cdn]\n");
  add("team", "    roles: [ingester, reader]\n    crawl_ids: [news]\n");
  StatusOr<Identities> all = Identities::Parse(yaml);
  EXPECT_TRUE(all.ok()) << all.status();
  return *std::move(all);
}

Status Try(Authoriser& authoriser, std::string_view path, const Credentials& credentials) {
  return authoriser.Authorise(path, credentials).status();
}

TEST(Authoriser, LetsEverybodyInUntilSomebodyIsNamed) {
  Authoriser authoriser({}, false);
  EXPECT_FALSE(authoriser.enabled());
  EXPECT_TRUE(Try(authoriser, kStats, {}).ok());
  EXPECT_TRUE(Try(authoriser, "/no.Such/Method", Bearer("anything")).ok());
  authoriser.SetIdentities(Some());
  EXPECT_TRUE(authoriser.enabled());
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, {})));
}

TEST(Authoriser, SaysWhatIsMissing) {
  Authoriser authoriser({}, false);
  authoriser.SetIdentities(Some());
  EXPECT_EQ(Try(authoriser, kStats, {}).message(),
            "a bearer token or a client certificate is missing");
  EXPECT_EQ(Try(authoriser, kStats, Bearer("guess")).message(),
            "authorization: no identity has this token");
  EXPECT_EQ(Try(authoriser, kStats, Certificate({"other.test"})).message(),
            "no identity has this client certificate");
  const Status denied = Try(authoriser, "/freshet.v1.AdminService/Pause", Bearer("reader"));
  EXPECT_TRUE(absl::IsPermissionDenied(denied));
  EXPECT_EQ(denied.message(),
            "identity reader has none of the roles that this call requires: admin");
  EXPECT_TRUE(Try(authoriser, kStats, Bearer("reader")).ok());
  EXPECT_TRUE(Try(authoriser, kStats, Certificate({"x.test", "reader.test"})).ok());
  EXPECT_EQ(authoriser.stats().unauthenticated, 3u);
  EXPECT_EQ(authoriser.stats().permission_denied, 1u);
  EXPECT_EQ(authoriser.stats().identities, 4u);
}

TEST(Authoriser, NobodyMayCallWhatHasNoRule) {
  Authoriser authoriser({}, false);
  authoriser.SetIdentities(Some());
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, "/no.Such/Method", {})));
  EXPECT_TRUE(absl::IsPermissionDenied(Try(authoriser, "/no.Such/Method", Bearer("admin"))));
  EXPECT_TRUE(absl::IsPermissionDenied(Try(authoriser, "", Bearer("admin"))));
}

// A token takes precedence: a valid certificate does not make up for a wrong token.
TEST(Authoriser, AWrongTokenIsNotMadeUpFor) {
  Authoriser authoriser({}, false);
  authoriser.SetIdentities(Some());
  Credentials both = Certificate({"admin.test"});
  both.AddAuthorization("Bearer guess");
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, both)));
  Credentials twice = Bearer("admin");
  twice.AddAuthorization("Bearer admin");
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, twice)));
  for (const char* odd : {"", "Bearer", "Bearer ", "Digest admin", "admin", "Basic !!!"}) {
    Credentials credentials;
    credentials.AddAuthorization(odd);
    EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, credentials))) << odd;
  }
  Credentials basic;
  basic.AddAuthorization("basic " + absl::Base64Escape("anybody:admin"));
  EXPECT_TRUE(Try(authoriser, kStats, basic).ok());
}

TEST(Authoriser, ACertificateOfTheClientCaWillDoWithoutIdentities) {
  Authoriser authoriser({}, true);
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, {})));
  EXPECT_TRUE(Try(authoriser, kStats, Certificate({})).ok());
  EXPECT_TRUE(Try(authoriser, "/grpc.health.v1.Health/Check", {}).ok());
  authoriser.SetIdentities(Some());
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, Certificate({}))));
}

TEST(Authoriser, OpensWhatIsSaidAndNothingElse) {
  Authoriser authoriser({"metrics", "reflection"}, false);
  authoriser.SetIdentities(Some());
  EXPECT_TRUE(Try(authoriser, "http:/metrics", {}).ok());
  EXPECT_TRUE(
      Try(authoriser, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}).ok());
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, "http:/status.json", {})));
  EXPECT_TRUE(absl::IsUnauthenticated(Try(authoriser, kStats, {})));
  EXPECT_TRUE(Try(authoriser, "http:/healthz", {}).ok());
}

// A method that ignores an identity's limit must refuse the identity.
TEST(Authoriser, LimitedIdentitiesCallOnlyWhatIsBoundedByTheirLimits) {
  Authoriser authoriser({}, false);
  authoriser.SetIdentities(Some());
  EXPECT_TRUE(Try(authoriser, kSignals, Bearer("site")).ok());
  const Status denied = Try(authoriser, kUpserts, Bearer("site"));
  EXPECT_EQ(denied.message(),
            "identity site is limited to some sources, and this call concerns all");
  EXPECT_TRUE(Try(authoriser, kUpserts, Bearer("team")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Try(authoriser, kStats, Bearer("team"))));
}

TEST(Authoriser, ItemsAreHeldToTheLimits) {
  Authoriser authoriser({}, false);
  authoriser.SetIdentities(Some());
  const Caller site = *authoriser.Authorise(kSignals, Bearer("site"));
  EXPECT_TRUE(site.CheckPage("anything", "www.a.test").ok());
  EXPECT_TRUE(site.CheckSource("cdn").ok());
  EXPECT_THAT(std::string(site.CheckHost("b.test").message()),
              AllOf(HasSubstr("may use only the hosts a.test"), Not(HasSubstr("b.test"))));
  EXPECT_TRUE(absl::IsPermissionDenied(site.CheckSource("feed")));
  const Caller team = *authoriser.Authorise(kUpserts, Bearer("team"));
  EXPECT_TRUE(team.CheckPage("news", "b.test").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(team.CheckPage("DEFAULT", "b.test")));
  EXPECT_TRUE(Caller().CheckPage("any", "any").ok());
  EXPECT_FALSE(Caller().limited());
}

TEST(Methods, AreThereOnceEach) {
  std::set<std::string_view> paths;
  for (const MethodRule& rule : AllMethods()) {
    EXPECT_TRUE(paths.insert(rule.path).second) << rule.path;
    EXPECT_EQ(FindMethod(rule.path), &rule);
  }
  EXPECT_EQ(FindMethod("/no.Such/Method"), nullptr);
}

}  // namespace
}  // namespace freshet
