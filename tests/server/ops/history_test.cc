// Tests the history: means over longer steps, and which rows survive the process and disk errors.
#include "server/ops/history.h"

#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// The start of an hour, and therefore of every longer step.
constexpr int64_t kStart = int64_t{500'000} * 3600;

Instant At(int64_t second) { return Instant::FromUnixSeconds(kStart + second); }

// Returns the values of a series, each with its seconds since kStart.
std::vector<std::pair<int64_t, double>> Values(const HistoryWindow& window,
                                               const std::string& name) {
  const auto it = std::find(window.names.begin(), window.names.end(), name);
  const auto index = static_cast<size_t>(it - window.names.begin());
  std::vector<std::pair<int64_t, double>> values;
  for (const HistoryRow& row : window.rows) {
    values.emplace_back(row.at - kStart,
                        index < row.values.size() ? row.values[index] : std::nan(""));
  }
  return values;
}

TEST(HistoryRings, StepsAreMultiplesOfTheOneBeforeAndSpanTheirWindows) {
  const auto& levels = HistoryRings::kLevels;
  for (size_t i = 1; i < levels.size(); ++i) EXPECT_EQ(levels[i].step % levels[i - 1].step, 0);
  const auto step_for = [&](int64_t window) { return levels[HistoryRings::LevelFor(window)].step; };
  EXPECT_EQ(step_for(900), 1);
  EXPECT_EQ(step_for(3600), 10);
  EXPECT_EQ(step_for(21600), 60);
  EXPECT_EQ(step_for(86400), 60);
  EXPECT_EQ(step_for(7 * 86400), 600);
  EXPECT_EQ(step_for(30 * 86400), 3600);
  EXPECT_EQ(step_for(300 * 86400), 3600);
}

TEST(HistoryRings, LongerStepsAreMeansOfWhatIsKnown) {
  History history;
  for (int second = 0; second <= 20; ++second) {
    Figures figures = {{"a", second}};
    if (second < 5) figures["b"] = 1;
    history.Add(At(second), figures);
  }
  const HistoryWindow hour = history.Read(At(20), 3600);
  EXPECT_EQ(hour.step, 10);
  using Point = std::pair<int64_t, double>;
  // The last point belongs to a step that has not ended yet.
  EXPECT_THAT(Values(hour, "a"), ElementsAre(Point{0, 4.5}, Point{10, 14.5}, Point{20, 20}));
  EXPECT_EQ(Values(hour, "b")[0].second, 1);
  EXPECT_TRUE(std::isnan(Values(hour, "b")[1].second));
}

// The window of a month shows the first minute of a server.
TEST(History, TheLongestWindowHasTheFirstSeconds) {
  History history;
  history.Add(At(3), {});
  for (int second = 3597; second <= 3602; ++second) history.Add(At(second), {{"a", second}});
  using Point = std::pair<int64_t, double>;
  for (const int64_t window : {3600, 86400}) {
    EXPECT_EQ(Values(history.Read(At(3602), window), "a").back(), (Point{3600, 3601}));
  }
  EXPECT_THAT(Values(history.Read(At(3602), History::kMaxWindow), "a"),
              ElementsAre(Point{0, 3598}, Point{3600, 3601}));
}

TEST(HistoryRings, HoldNoMoreThanTheyMay) {
  HistoryRings rings;
  const int64_t seconds = 3 * HistoryRings::kLevels[0].span();
  for (int64_t second = 0; second < seconds; ++second) rings.Add(kStart + second, {{"a", 1}});
  EXPECT_EQ(rings.rows(0).size(), HistoryRings::kLevels[0].rows);
  EXPECT_EQ(rings.rows(0).back().at, kStart + seconds - 1);
  for (int i = 0; i < 100; ++i) (void)rings.SeriesOf("n" + std::to_string(i));
  EXPECT_EQ(rings.names().size(), HistoryRings::kMaxSeries);
  EXPECT_EQ(rings.SeriesOf("one more"), HistoryRings::kMaxSeries);
}

TEST(History, TheSecondThatCameBeforeCounts) {
  History history;
  history.Add(At(5), {{"a", 1}});
  history.Add(At(5), {{"a", 2}});
  history.Add(At(4), {{"a", 3}});
  EXPECT_THAT(Values(history.Seconds(), "a"), ElementsAre(std::pair<int64_t, double>{5, 1}));
}

TEST(History, ReadsOnlyWhatIsNewWhereItIsAsked) {
  History history;
  for (int second = 0; second < 100; ++second) history.Add(At(second), {{"a", second}});
  EXPECT_EQ(history.Read(At(99), 900).rows.size(), 100u);
  EXPECT_EQ(history.Read(At(99), 900, kStart + 97).rows.size(), 2u);
  EXPECT_EQ(history.Read(At(99), 10).rows.size(), 11u);
}

class StoredHistory : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return dir_ / "history/history.sqlite"; }
  void Record(int from, int to) const {
    History history;
    history.Open(dir_ / "history", At(from));
    for (int second = from; second < to; ++second) history.Add(At(second), {{"a", second}});
  }
  TempDir dir_;
};

TEST_F(StoredHistory, SurvivesARestart) {
  Record(0, 100);
  Record(200, 300);
  History history;
  history.Open(dir_ / "history", At(300));
  const auto seconds = Values(history.Seconds(), "a");
  ASSERT_EQ(seconds.size(), 200u);
  EXPECT_EQ(seconds[99], (std::pair<int64_t, double>{99, 99}));
  EXPECT_EQ(seconds[100], (std::pair<int64_t, double>{200, 200}));
  // The minute of the restart is a mean of both runs.
  const auto minutes = Values(history.Read(At(300), 86400), "a");
  EXPECT_EQ(minutes[0], (std::pair<int64_t, double>{0, 29.5}));
  EXPECT_EQ(minutes[1], (std::pair<int64_t, double>{60, 79.5}));
}

// Copies the files of a running history, which are the files that a kill would leave: flushed rows
// are in them.
TEST_F(StoredHistory, SurvivesAKill) {
  History killed;
  killed.Open(dir_ / "history", At(0));
  for (int second = 0; second < 30; ++second) killed.Add(At(second), {{"a", second}});
  // Makes a copy of the present files.
  fs::copy(dir_ / "history", dir_ / "copy");
  History history;
  history.Open(dir_ / "copy", At(40));
  const size_t rows = history.Seconds().rows.size();
  EXPECT_GE(rows, 30u - History::kFlushInterval);
  EXPECT_LE(rows, 30u);
}

TEST_F(StoredHistory, StaysSmallWhateverTimePasses) {
  std::vector<std::string> names;
  for (size_t i = 0; i < HistoryRings::kMaxSeries; ++i)
    names.push_back("series" + std::to_string(i));
  fs::create_directories(dir_ / "history");
  const auto stored = HistoryFile::Open(file());
  ASSERT_TRUE(stored.ok()) << stored.status();
  // Fills all rings with all series, then twice more.
  const int64_t span = HistoryRings::kLevels.back().span();
  for (const int64_t begin : {int64_t{0}, span, 2 * span}) {
    HistoryFile::Batch batch;
    for (size_t level = 0; level < batch.size(); ++level) {
      const auto& [step, rows] = HistoryRings::kLevels[level];
      for (size_t i = 0; i < rows; ++i) {
        batch[level].push_back({.at = kStart + begin + static_cast<int64_t>(i) * step,
                                .values = std::vector<double>(names.size(), 1.5)});
      }
    }
    ASSERT_TRUE((*stored)->Write(names, batch).ok());
  }
  HistoryRings rings;
  ASSERT_TRUE((*stored)->Load(kStart + 4 * span, &rings).ok());
  for (size_t level = 0; level < HistoryRings::kLevels.size(); ++level) {
    EXPECT_EQ(rings.rows(level).size(), HistoryRings::kLevels[level].rows);
  }
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir_ / "history")) bytes += entry.file_size();
  EXPECT_LT(bytes, uint64_t{HistoryFile::kMaxPages} * 4096);
}

TEST_F(StoredHistory, ADamagedFileIsPutAsideAndNothingElseIsLost) {
  Record(0, 50);
  for (const std::string& rubbish : {std::string(8192, 'x'), std::string("SQLite format 3")}) {
    std::ofstream(file(), std::ios::binary) << rubbish;
    Record(100, 150);
    EXPECT_TRUE(fs::exists(file() + ".damaged"));
    History history;
    history.Open(dir_ / "history", At(200));
    EXPECT_EQ(history.Seconds().rows.size(), 50u);
  }
}

// A view can have endless rows, and a trigger can run other statements.
TEST_F(StoredHistory, AFileWithOtherTablesIsPutAside) {
  const std::string numbers =
      "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c) SELECT ";
  for (const std::string& sql :
       {"DROP TABLE series; CREATE VIEW series AS " + numbers +
            "n AS number, 'a' || n AS name FROM c",
        "DROP TABLE rows; CREATE VIEW rows AS " + numbers +
            "0 AS level, n AS at, x'' AS vals FROM c",
        std::string("CREATE TRIGGER more AFTER INSERT ON rows BEGIN DELETE FROM series; END")}) {
    fs::remove_all(dir_ / "history");
    Record(0, 50);
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(database);
    Record(100, 150);
    EXPECT_TRUE(fs::exists(file() + ".damaged")) << sql;
  }
}

TEST_F(StoredHistory, DamageInTheMiddleIsNoticed) {
  Record(0, 1000);
  const auto size = static_cast<std::streamoff>(fs::file_size(file()));
  {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::streamoff at = 4096; at + 64 < size; at += 4096) {
      stream.seekp(at);
      stream << std::string(64, '\xff');
    }
  }
  Record(2000, 2010);
  EXPECT_TRUE(fs::exists(file() + ".damaged"));
}

TEST_F(StoredHistory, WithoutAPlaceToStoreItGoesOnInMemory) {
  std::ofstream(dir_ / "history") << "a file, not a directory";
  History history;
  history.Open(dir_ / "history", At(0));
  for (int second = 0; second < 30; ++second) history.Add(At(second), {{"a", second}});
  EXPECT_EQ(history.Seconds().rows.size(), 30u);
}

TEST_F(StoredHistory, RowsOfAClockThatRanAheadAreLeftOut) {
  Record(1000, 1050);
  Record(0, 50);
  History history;
  history.Open(dir_ / "history", At(60));
  EXPECT_EQ(history.Seconds().rows.size(), 50u);
}

}  // namespace
}  // namespace freshet
