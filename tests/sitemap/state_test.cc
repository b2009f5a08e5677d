#include "tools/sitemap/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

  const TempDir dir_;
  const std::string path_ = dir_ / "a/b/state.db";
};

TEST_F(PollStateTest, RemembersTheDocumentsThatWerePolledLast) {
  const auto state = Open();
  for (int i = 0; i < 5; ++i) {
    const DocumentState document{.etag = "\"1\"", .polled = kMay + Duration::Days(i)};
    ASSERT_TRUE(state->PutDocument(std::to_string(i), document).ok());
  }
  ASSERT_TRUE(state->KeepDocuments(5).ok());
  EXPECT_EQ(state->FindDocument("0")->etag, "\"1\"");
  ASSERT_TRUE(state->KeepDocuments(2).ok());
  EXPECT_EQ(state->FindDocument("2")->etag, "");
  EXPECT_EQ(state->FindDocument("3")->etag, "\"1\"");
  EXPECT_EQ(state->FindDocument("4")->etag, "\"1\"");
}

TEST_F(PollStateTest, WhatIsCommittedIsKnown) {
  auto state = Open();
  EXPECT_FALSE(state->FindPage("http://a.test/")->known);
  ASSERT_TRUE(state->Stage(1, "http://a.test/", kMay).ok());
  ASSERT_TRUE(state->Stage(2, "http://b.test/", Instant::None()).ok());
  ASSERT_TRUE(state->Stage(3, "http://c.test/", kMay).ok());
  EXPECT_TRUE(state->FindPage("http://a.test/")->staged);
  ASSERT_TRUE(state->Unstage(3).ok());
  const DocumentState kept{.etag = "\"1\"",
                           .last_modified = "yesterday",
                           .polled = kMay,
                           .interval = Duration::Hours(1),
                           .next = kMay + Duration::Hours(1),
                           .not_before = kMay + Duration::Hours(2)};
  ASSERT_TRUE(state->Commit("http://a.test/map", kept).ok());
  state.reset();
  state = Open();
  EXPECT_EQ(state->FindPage("http://a.test/")->modified, kMay);
  EXPECT_FALSE(state->FindPage("http://a.test/")->staged);
  EXPECT_TRUE(state->FindPage("http://b.test/")->known);
  EXPECT_TRUE(state->FindPage("http://b.test/")->modified.is_none());
  EXPECT_FALSE(state->FindPage("http://c.test/")->known);
  const DocumentState found = *state->FindDocument("http://a.test/map");
  EXPECT_EQ(found.etag, kept.etag);
  EXPECT_EQ(found.last_modified, kept.last_modified);
  EXPECT_EQ(found.polled, kept.polled);
  EXPECT_EQ(found.interval, kept.interval);
  EXPECT_EQ(found.next, kept.next);
  EXPECT_EQ(found.not_before, kept.not_before);
}

TEST_F(PollStateTest, WhatIsStagedAloneIsNot) {
  auto state = Open();
  ASSERT_TRUE(state->Stage(1, "http://a.test/", kMay).ok());
  ASSERT_TRUE(state->Forget().ok());
  EXPECT_FALSE(state->FindPage("http://a.test/")->known);
  ASSERT_TRUE(state->Stage(1, "http://a.test/", kMay).ok());
  state.reset();
  EXPECT_FALSE(Open()->FindPage("http://a.test/")->known);
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
