#include "tools/sitemap/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"
#include "tools/sitemap/intervals.h"

namespace freshet::sitemap {
namespace {

using testing::HasSubstr;

constexpr Instant kMay = Instant::FromUnixSeconds(1'715'904'000);

class PollStateTest : public testing::Test {
 protected:
  std::unique_ptr<PollState> Open(const std::string& crawl_id = "") {
    auto state = PollState::Open(path_, crawl_id);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *std::move(state) : nullptr;
  }

  // Makes a database file with this SQL, as another program could.
  [[nodiscard]] std::string MakeFile(const char* sql) const {
    const std::string path = dir_ / "old";
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    return path;
  }

  // Returns the stored ETag of a document; "" = the document was forgotten.
  static std::string Tag(PollState& state, const DocumentKey& key) {
    return state.FindDocument(key)->etag;
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "a/b/state.db";
};

// If others could write to the folder, another user of the machine could replace the file.
TEST_F(PollStateTest, FoldersAreOfTheOwnerAlone) {
  const mode_t before = umask(0);
  EXPECT_NE(Open(), nullptr);
  umask(before);
  using std::filesystem::perms;
  for (const char* folder : {"a", "a/b"}) {
    EXPECT_EQ(std::filesystem::status(dir_ / folder).permissions(), perms::owner_all) << folder;
  }
}

TEST_F(PollStateTest, RemembersTheDocumentsThatWerePolledLast) {
  const auto state = Open();
  for (int i = 0; i < 5; ++i) {
    const DocumentState document{.etag = "\"1\"", .polled = kMay + Duration::Days(i)};
    ASSERT_TRUE(state->PutDocument({"a.test", std::to_string(i)}, document).ok());
  }
  const Instant now = kMay + Duration::Days(5);
  ASSERT_TRUE(state->KeepDocuments("a.test", 5, now).ok());
  EXPECT_EQ(Tag(*state, {"a.test", "0"}), "\"1\"");
  ASSERT_TRUE(state->KeepDocuments("a.test", 2, now).ok());
  EXPECT_EQ(Tag(*state, {"a.test", "2"}), "");
  EXPECT_EQ(Tag(*state, {"a.test", "3"}), "\"1\"");
  EXPECT_EQ(Tag(*state, {"a.test", "4"}), "\"1\"");
}

TEST_F(PollStateTest, BoundsEachSiteByItself) {
  const auto state = Open();
  const DocumentKey early{"a.test", "http://a.test/map"};
  const DocumentKey same_url{"b.test", early.url};
  ASSERT_TRUE(state->PutDocument(early, {.etag = "\"a\"", .polled = kMay}).ok());
  for (int i = 0; i < 5; ++i) {
    const Instant polled = kMay + Duration::Days(1 + i);
    const DocumentKey key{"b.test", "http://b.test/" + std::to_string(i)};
    ASSERT_TRUE(state->PutDocument(key, {.etag = "\"b\"", .polled = polled}).ok());
  }
  ASSERT_TRUE(state->PutDocument(same_url, {.etag = "\"b\"", .polled = kMay}).ok());
  EXPECT_EQ(Tag(*state, early), "\"a\"");
  ASSERT_TRUE(state->KeepDocuments("b.test", 1, kMay + Duration::Days(9)).ok());
  EXPECT_EQ(Tag(*state, early), "\"a\"");
  EXPECT_EQ(Tag(*state, same_url), "");
  EXPECT_EQ(Tag(*state, {"b.test", "http://b.test/3"}), "");
  EXPECT_EQ(Tag(*state, {"b.test", "http://b.test/4"}), "\"b\"");
}

TEST_F(PollStateTest, KeepsAWaitUntilItIsOver) {
  const auto state = Open();
  const Instant end = kMay + Duration::Hours(10);
  ASSERT_TRUE(state->PutDocument({"a.test", "http://a.test"}, {.not_before = end}).ok());
  ASSERT_TRUE(state->PutDocument({"a.test", "http://a.test/map"}, {.polled = kMay}).ok());
  ASSERT_TRUE(state->KeepDocuments("a.test", 1, kMay).ok());
  EXPECT_EQ(*state->FindWait("a.test", "http://a.test", end), end);
  ASSERT_TRUE(state->PutDocument({"a.test", "http://a.test/map"}, {.polled = kMay}).ok());
  ASSERT_TRUE(state->KeepDocuments("a.test", 1, end).ok());
  EXPECT_TRUE(state->FindWait("a.test", "http://a.test", end)->is_none());
}

// A site can store a wait for the host of another site. This wait must not delay the polls of the
// other site.
TEST_F(PollStateTest, FindsTheLatestWaitThatCountsForASite) {
  const auto state = Open();
  const auto wait = [&state](const std::string& site, int hours) {
    return (*state->FindWait(site, "http://a.test", kMay + Duration::Hours(hours)) - kMay)
               .seconds() /
           3600;
  };
  EXPECT_TRUE(state->FindWait("a.test", "http://a.test", kMay)->is_none());
  for (const auto& [site, hours] : {std::pair("a.test", 1), std::pair("evil.test", 2)}) {
    ASSERT_TRUE(
        state->PutDocument({site, "http://a.test"}, {.not_before = kMay + Duration::Hours(hours)})
            .ok());
  }
  EXPECT_EQ(wait("a.test", 9), 1);
  EXPECT_EQ(wait("another.test", 9), 1);
  EXPECT_EQ(wait("evil.test", 9), 2);
  EXPECT_EQ(wait("evil.test", 1), 1) << "no later than can be";
  EXPECT_TRUE(state->FindWait("b.test", "http://b.test", kMay + Duration::Hours(1))->is_none());
}

TEST_F(PollStateTest, FilesOfVersion1AreReadOn) {
  const std::string old = MakeFile(R"(
CREATE TABLE documents (
  url TEXT PRIMARY KEY, etag TEXT NOT NULL, last_modified TEXT NOT NULL, polled INTEGER NOT NULL,
  interval INTEGER NOT NULL, next INTEGER NOT NULL, not_before INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pages (url TEXT PRIMARY KEY, modified INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO settings VALUES ('crawl_id', '');
INSERT INTO pages VALUES ('http://a.test/', 5);
INSERT INTO documents VALUES ('http://www.a.test/map', 'own', 'yesterday', 1, 2, 3, 4);
INSERT INTO documents VALUES ('b.test http://a.test/map', 'on the word of b', '', 1, 2, 3, 4);
INSERT INTO documents VALUES ('/my files/map', 'file', '', 1, 2, 3, 4);
INSERT INTO documents VALUES ('http://a.test', '', '', 0, 0, 0, 7);
PRAGMA user_version=1)");
  for (int i = 0; i < 2; ++i) {
    const auto state = PollState::Open(old, "");
    ASSERT_TRUE(state.ok()) << state.status();
    const DocumentState own = *(*state)->FindDocument({"a.test", "http://www.a.test/map"});
    EXPECT_EQ(own.etag, "own");
    EXPECT_EQ(own.last_modified, "yesterday");
    EXPECT_EQ(own.polled, Instant::FromMicros(1));
    EXPECT_EQ(own.interval, Duration::Micros(2));
    EXPECT_EQ(own.next, Instant::FromMicros(3));
    EXPECT_EQ(own.not_before, Instant::FromMicros(4));
    EXPECT_EQ(Tag(**state, {"b.test", "http://a.test/map"}), "on the word of b");
    EXPECT_EQ(Tag(**state, {"", "/my files/map"}), "file");
    EXPECT_EQ(*(*state)->FindWait("a.test", "http://a.test", kMay), Instant::FromMicros(7));
    EXPECT_TRUE((*state)->FindPage("http://a.test/")->known);
  }
}

TEST_F(PollStateTest, FilesOfVersion2AreReadOn) {
  const std::string old = MakeFile(R"(
CREATE TABLE documents (
  site TEXT, url TEXT, etag TEXT NOT NULL, last_modified TEXT NOT NULL, polled INTEGER NOT NULL,
  interval INTEGER NOT NULL, next INTEGER NOT NULL, not_before INTEGER NOT NULL,
  PRIMARY KEY (site, url)) WITHOUT ROWID;
CREATE TABLE pages (url TEXT PRIMARY KEY, modified INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO settings VALUES ('crawl_id', '');
INSERT INTO documents VALUES ('a.test', 'http://a.test/map', 'own', 'yesterday', 1, 2, 3, 4);
PRAGMA user_version=2)");
  const DocumentKey key{"a.test", "http://a.test/map"};
  for (const bool site_public : {false, true}) {
    const auto state = PollState::Open(old, "");
    ASSERT_TRUE(state.ok()) << state.status();
    DocumentState own = *(*state)->FindDocument(key);
    EXPECT_EQ(own.etag, "own");
    EXPECT_EQ(own.not_before, Instant::FromMicros(4));
    EXPECT_EQ(own.site_public, site_public);
    own.site_public = true;
    EXPECT_TRUE((*state)->PutDocument(key, own).ok());
  }
}

TEST_F(PollStateTest, WhatIsCommittedIsKnown) {
  auto state = Open();
  EXPECT_FALSE(state->FindPage("http://a.test/")->known);
  const uint64_t stage = state->NewStage();
  ASSERT_TRUE(state->Stage(stage, 1, "http://a.test/", kMay).ok());
  ASSERT_TRUE(state->Stage(stage, 2, "http://b.test/", Instant::None()).ok());
  ASSERT_TRUE(state->Stage(stage, 3, "http://c.test/", kMay).ok());
  ASSERT_TRUE(state->Stage(stage, 4, "http://d.test/", kMay).ok());
  EXPECT_TRUE(state->FindPage("http://a.test/", stage)->staged);
  ASSERT_TRUE(state->Unstage(stage, 3).ok());
  ASSERT_TRUE(state->Commit(stage, 3).ok());
  EXPECT_FALSE(state->FindPage("http://a.test/", stage)->staged);
  EXPECT_TRUE(state->FindPage("http://d.test/", stage)->staged) << "its piece comes later";
  const DocumentState kept{.etag = "\"1\"",
                           .last_modified = "yesterday",
                           .polled = kMay,
                           .interval = Duration::Hours(1),
                           .next = kMay + Duration::Hours(1),
                           .not_before = kMay + Duration::Hours(2)};
  ASSERT_TRUE(state->PutDocument({"a.test", "http://a.test/map"}, kept).ok());
  state.reset();
  state = Open();
  EXPECT_EQ(state->FindPage("http://a.test/")->modified, kMay);
  EXPECT_TRUE(state->FindPage("http://b.test/")->known);
  EXPECT_TRUE(state->FindPage("http://b.test/")->modified.is_none());
  EXPECT_FALSE(state->FindPage("http://c.test/")->known);
  EXPECT_FALSE(state->FindPage("http://d.test/")->known);
  const DocumentState found = *state->FindDocument({"a.test", "http://a.test/map"});
  EXPECT_EQ(found.etag, kept.etag);
  EXPECT_EQ(found.last_modified, kept.last_modified);
  EXPECT_EQ(found.polled, kept.polled);
  EXPECT_EQ(found.interval, kept.interval);
  EXPECT_EQ(found.next, kept.next);
  EXPECT_EQ(found.not_before, kept.not_before);
}

TEST_F(PollStateTest, WhatIsStagedAloneIsNot) {
  auto state = Open();
  const uint64_t stage = state->NewStage();
  ASSERT_TRUE(state->Stage(stage, 1, "http://a.test/", kMay).ok());
  ASSERT_TRUE(state->Stage(stage, 2, "http://b.test/", kMay).ok());
  state->Forget(stage);
  for (const char* url : {"http://a.test/", "http://b.test/"}) {
    EXPECT_FALSE(state->FindPage(url)->known);
    EXPECT_FALSE(state->FindPage(url, stage)->staged);
  }
  ASSERT_TRUE(state->Stage(stage, 1, "http://a.test/", kMay).ok());
  state.reset();
  EXPECT_FALSE(Open()->FindPage("http://a.test/")->known);
}

TEST_F(PollStateTest, StagesDoNotMix) {
  const auto state = Open();
  const uint64_t one = state->NewStage();
  const uint64_t two = state->NewStage();
  ASSERT_TRUE(state->Stage(one, 1, "http://a.test/", kMay).ok());
  ASSERT_TRUE(state->Stage(one, 2, "http://b.test/", kMay).ok());
  ASSERT_TRUE(state->Stage(two, 1, "http://a.test/", kMay + Duration::Days(1)).ok());
  ASSERT_TRUE(state->Commit(two, 2).ok());
  EXPECT_EQ(state->FindPage("http://a.test/")->modified, kMay + Duration::Days(1));
  EXPECT_FALSE(state->FindPage("http://b.test/")->known);
  EXPECT_EQ(state->FindPage("http://a.test/", one)->staged->modified, kMay);
  state->Forget(two);
  EXPECT_TRUE(state->FindPage("http://b.test/", one)->staged);
}

TEST_F(PollStateTest, BelongsToOneProcessAndOneCrawl) {
  auto state = Open("shop");
  EXPECT_THAT(PollState::Open(path_, "shop").status().message(),
              HasSubstr("another process has it open"));
  state.reset();
  EXPECT_THAT(PollState::Open(path_, "news").status().message(),
              HasSubstr("kept for the crawl id 'shop', not 'news'"));
  EXPECT_NE(Open("shop"), nullptr);
}

TEST_F(PollStateTest, OtherFilesAreLeftAlone) {
  const std::string other = dir_ / "other";
  std::ofstream(other) << std::string(4096, 'x');
  EXPECT_THAT(PollState::Open(other, "").status().message(), HasSubstr("not a database"));
  EXPECT_THAT(PollState::Open("/proc/none/state", "").status().message(), HasSubstr("/proc/none"));
}

TEST(Intervals, ShrinkWithNewsAndGrowWithout) {
  const IntervalRule rule{.first = Duration::Hours(1)};
  Duration interval = NextInterval(rule, Duration(), true);
  EXPECT_EQ(interval, Duration::Hours(1));
  EXPECT_EQ(NextInterval(rule, interval, true), Duration::Seconds(1800));
  EXPECT_EQ(NextInterval(rule, interval, false), Duration::Seconds(5400));
  for (int i = 0; i < 100; ++i) interval = NextInterval(rule, interval, true);
  EXPECT_EQ(interval, rule.least);
  for (int i = 0; i < 100; ++i) interval = NextInterval(rule, interval, false);
  EXPECT_EQ(interval, rule.most);
}

TEST(Intervals, DocumentsPart) {
  const Instant a = NextPoll(kMay, Duration::Hours(1), "http://a.test/");
  const Instant b = NextPoll(kMay, Duration::Hours(1), "http://b.test/");
  EXPECT_NE(a, b);
  for (const Instant next : {a, b}) {
    EXPECT_GE(next, kMay + Duration::Seconds(3240));
    EXPECT_LE(next, kMay + Duration::Seconds(3960));
  }
}

}  // namespace
}  // namespace freshet::sitemap
