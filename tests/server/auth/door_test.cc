#include "server/auth/door.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/system_clock.h"
#include "server/config.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr const char* kIdentity =
    "identities: [{name: a, certificate: [a.test], roles: [reader]}]\n";

// A directory with the files of a server.
class DoorTest : public testing::Test {
 protected:
  DoorTest() {
    config_.tls_certificate = dir_ / "certificate.pem";
    config_.tls_key = dir_ / "key.pem";
    config_.reload_interval = Duration::Hours(24);
    Write(authority_.Issue({}));
  }
  void Write(const KeyPair& pair) {
    ReplaceFile(config_.tls_certificate, pair.certificate);
    ReplaceFile(config_.tls_key, pair.key);
  }
  std::string OpenError() {
    const auto door = Door::Open(config_, clock_);
    return door.ok() ? "" : std::string(door.status().message());
  }

  TempDir dir_;
  SystemClock clock_;
  TestAuthority authority_;
  ServerConfig config_;
};

TEST_F(DoorTest, RefusesFilesThatCannotServe) {
  EXPECT_EQ(OpenError(), "");
  ReplaceFile(config_.tls_key, authority_.Issue({}).key);
  EXPECT_THAT(OpenError(), HasSubstr("does not belong to tls.certificate"));
  ReplaceFile(config_.tls_key, "no key");
  EXPECT_THAT(OpenError(), HasSubstr("tls.key: "));
  ReplaceFile(config_.tls_certificate, "no certificate");
  EXPECT_THAT(OpenError(), HasSubstr("holds no certificate in PEM"));
  std::filesystem::remove(config_.tls_certificate);
  EXPECT_THAT(OpenError(), HasSubstr("tls.certificate: cannot open"));
  Write(authority_.Issue({}));
  config_.tls_client_ca = dir_ / "ca.pem";
  EXPECT_THAT(OpenError(), HasSubstr("tls.client_ca: cannot open"));
  ReplaceFile(config_.tls_client_ca, authority_.certificate().substr(0, 200));
  EXPECT_THAT(OpenError(), HasSubstr("tls.client_ca: "));
  ReplaceFile(config_.tls_client_ca, authority_.certificate());
  EXPECT_EQ(OpenError(), "");
  config_.auth_file = dir_ / "auth.yaml";
  EXPECT_THAT(OpenError(), HasSubstr("auth.file: cannot open"));
  ReplaceFile(config_.auth_file, "identities: nobody\n");
  EXPECT_THAT(OpenError(), HasSubstr("auth.file: identities: is not a list"));
}

TEST_F(DoorTest, KeepsWhatItHasWhenFilesTurnBad) {
  config_.auth_file = dir_ / "auth.yaml";
  ReplaceFile(config_.auth_file, kIdentity);
  const auto door = *Door::Open(config_, clock_);
  const auto first = door->tls();
  ReplaceFile(config_.tls_key, "no key");
  ReplaceFile(config_.auth_file, "identities: nobody\n");
  door->Reload();
  door->Reload();
  EXPECT_EQ(door->tls(), first);
  EXPECT_EQ(door->stats().auth.identities, 1u);
  EXPECT_EQ(door->stats().failed_reloads, 2u) << "each fault counts once";
  EXPECT_EQ(door->stats().reloads, 0u);
}

TEST_F(DoorTest, TakesUpFilesThatHaveChanged) {
  config_.auth_file = dir_ / "auth.yaml";
  ReplaceFile(config_.auth_file, kIdentity);
  const auto door = *Door::Open(config_, clock_);
  const auto first = door->tls();
  int changes = 0;
  door->SetListener([&changes] { ++changes; });
  door->Reload();
  EXPECT_EQ(door->tls(), first) << "nothing has changed";
  EXPECT_EQ(changes, 0);

  Write(authority_.Issue({.to_days = 60}));
  ReplaceFile(config_.auth_file, std::string(kIdentity) + "# more\n");
  door->Reload();
  EXPECT_GT(door->tls()->version, first->version);
  EXPECT_GT(door->stats().certificate_not_after, first->not_after);
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(door->stats().reloads, 2u);
  door->Stop();
  ReplaceFile(config_.auth_file, kIdentity);
  door->Reload();
  EXPECT_EQ(changes, 1) << "nobody is called any more";
}

TEST_F(DoorTest, LooksAtItsFilesByItself) {
  config_.reload_interval = Duration::Millis(10);
  const auto door = *Door::Open(config_, clock_);
  const uint64_t before = door->tls()->version;
  Write(authority_.Issue({}));
  WaitUntil([&] { return door->tls()->version != before; });
  EXPECT_GE(door->stats().reloads, 1u);
}

TEST_F(DoorTest, TellsWhenTimeIsOver) {
  config_.tls_client_ca = dir_ / "ca.pem";
  ReplaceFile(config_.tls_client_ca,
              authority_.certificate() + TestAuthority("another", 3).certificate());
  const auto door = *Door::Open(config_, clock_);
  const DoorStats stats = door->stats();
  const Instant now = clock_.Now();
  EXPECT_TRUE(stats.tls);
  EXPECT_TRUE(stats.client_ca);
  EXPECT_GT(stats.certificate_not_after, now + Duration::Days(29));
  EXPECT_LT(stats.certificate_not_after, now + Duration::Days(31));
  EXPECT_LT(stats.client_ca_not_after, now + Duration::Days(4)) << "the earliest counts";
}

}  // namespace
}  // namespace freshet
