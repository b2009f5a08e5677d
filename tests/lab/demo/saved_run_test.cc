#include "lab/demo/saved_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lab/demo/prepare.h"
#include "tests/lab/demo/small_history.h"

namespace freshet::demo {
namespace {

using ::testing::HasSubstr;

SavedRun HalfDone() {
  SavedRun run{.history = "/some where/history.tsv.gz",
               .timeline = TenDays(),
               .crawl_rate_per_second = 1416.125,
               .recall = 0.5,
               .polled_until_micros = WallDay(3)};
  run.timeline.wall_micros_per_day = 16'393.442622950819;
  return run;
}

SavedRun WantedLike(SavedRun run) {
  run.timeline.wall_begin_micros = 0;
  run.polled_until_micros = 0;
  return run;
}

// Provides a temporary directory.
class SavedRunTest : public ::testing::Test {
 protected:
  SavedRunTest() {
    std::string name = (std::filesystem::temp_directory_path() / "freshet-run-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~SavedRunTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] PrepareOptions Options(double seconds) const {
    return {.run_dir = folder_ + "/run", .history = folder_ + "/history.tsv", .seconds = seconds};
  }
  void WriteHistory(std::string_view text) const {
    std::ofstream(folder_ + "/history.tsv") << text;
  }
  // Makes files as an earlier server would have left them.
  void MakeStore() const {
    std::filesystem::create_directories(StorePath(folder_ + "/run"));
    std::ofstream(StorePath(folder_ + "/run") + "/CURRENT") << "MANIFEST-000001\n";
  }
  [[nodiscard]] bool HasStore() const {
    return std::filesystem::exists(StorePath(folder_ + "/run"));
  }

  std::string folder_;
};

TEST_F(SavedRunTest, IsReadAsItWasWritten) {
  const std::string path = folder_ + "/replay";
  ASSERT_TRUE(WriteSavedRun(path, HalfDone()).ok());
  SavedRun finished = HalfDone();
  finished.finished = true;
  ASSERT_TRUE(WriteSavedRun(path, finished).ok());
  const auto read = ReadSavedRun(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, finished);
  EXPECT_EQ(ReadSavedRun(folder_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SavedRunTest, SaysWhyItCannotBeWritten) {
  const Status status = WriteSavedRun(folder_ + "/missing/replay", HalfDone());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("No such file or directory"));
}

TEST_F(SavedRunTest, RefusesDamagedText) {
  const std::string text = FormatSavedRun(HalfDone());
  ASSERT_TRUE(ParseSavedRun(text).ok());
  EXPECT_FALSE(ParseSavedRun("").ok());
  EXPECT_FALSE(ParseSavedRun("freshet-demo 1" + text.substr(14)).ok());
  for (size_t length = 0; length + 2 < text.size(); length += 5) {
    EXPECT_FALSE(ParseSavedRun(text.substr(0, text.size() - 2 - length)).ok()) << length;
  }
  SavedRun endless = HalfDone();
  endless.timeline.wall_micros_per_day = 0;
  EXPECT_FALSE(ParseSavedRun(FormatSavedRun(endless)).ok());
}

TEST_F(SavedRunTest, ResumesOnlyWhatIsTheSameAndNotOver) {
  const SavedRun run = HalfDone();
  const SavedRun wanted = WantedLike(run);
  EXPECT_FALSE(DecideRun(std::nullopt, wanted, WallDay(0)).resume);

  const int64_t end = run.timeline.wall_end_micros();
  const RunDecision go_on = DecideRun(run, wanted, end - 1);
  EXPECT_TRUE(go_on.resume);
  EXPECT_THAT(go_on.reason, HasSubstr("going on"));
  const RunDecision over = DecideRun(run, wanted, end);
  EXPECT_FALSE(over.resume);
  EXPECT_THAT(over.reason, HasSubstr("is over by now"));

  SavedRun faster = wanted;
  faster.timeline.wall_micros_per_day /= 2;
  EXPECT_THAT(DecideRun(run, faster, WallDay(0)).reason, HasSubstr("another history"));
  SavedRun quieter = wanted;
  quieter.recall = 0.25;
  EXPECT_THAT(DecideRun(run, quieter, WallDay(0)).reason, HasSubstr("or recall: starting over"));
  SavedRun finished = run;
  finished.finished = true;
  EXPECT_THAT(DecideRun(finished, wanted, WallDay(0)).reason, HasSubstr("had finished"));
  EXPECT_FALSE(DecideRun(wanted, wanted, WallDay(0)).resume) << "never begun";
}

TEST_F(SavedRunTest, PrepareKeepsAStoreToGoOnWithAndRemovesOthers) {
  WriteHistory("https://x.example/a\t1\t1000000000\t1100000000:c\n");
  const auto first = Prepare(Options(60), 5);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->decision.resume);

  SavedRun begun = first->run;
  begun.timeline.wall_begin_micros = 1000;
  ASSERT_TRUE(WriteSavedRun(SavedRunPath(folder_ + "/run"), begun).ok());
  MakeStore();
  const auto second = Prepare(Options(60), 2000);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->decision.resume);
  EXPECT_EQ(second->run, begun);
  EXPECT_TRUE(HasStore());

  const auto third = Prepare(Options(30), 2000);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_FALSE(third->decision.resume);
  EXPECT_EQ(third->run.timeline.wall_begin_micros, 0);
  EXPECT_FALSE(HasStore());
}

TEST_F(SavedRunTest, PrepareScalesTheServerToTheReplay) {
  // A replay of 2,000 days in 30 s would take 15 ms a day. By default a day takes 16 ms, so the
  // start of the history is cut off.
  std::string text;
  for (int page = 0; page < 500; ++page) {
    text += fmt::format("https://x.example/{}\t1\t{}\t\n", page, 1'000'000'000 + page * 345'600);
  }
  WriteHistory(text);
  const auto prepared = Prepare(Options(30), 5);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->run.timeline.days(), 1875);
  // Each of 500 pages is crawled once in four days, and a day takes 16 ms.
  EXPECT_EQ(ServerSettings(*prepared),
            "resume=0\nday=16000us\nepoch=480000us\ncrawl_rate=15.625\n");
  PrepareOptions year = Options(30);
  year.years = 1;
  const auto last = Prepare(year, 5);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_NEAR(last->run.timeline.days(), 365.2425, 1e-3);
}

TEST_F(SavedRunTest, PrepareRefusesWhatItCannotPlay) {
  EXPECT_EQ(Prepare(Options(60), 5).status().code(), absl::StatusCode::kNotFound);
  WriteHistory("https://x.example/a\t1\t1000000000\t1100000000:c\n");
  PrepareOptions options = Options(60);
  options.crawl_rate_per_second = -1;
  EXPECT_EQ(Prepare(options, 5).status().code(), absl::StatusCode::kInvalidArgument);
  options = Options(60);
  options.recall = 1.5;
  EXPECT_THAT(std::string(Prepare(options, 5).status().message()),
              HasSubstr("recall 1.5 is out of range"));
  options = Options(60);
  options.years = 0;
  EXPECT_EQ(Prepare(options, 5).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet::demo
