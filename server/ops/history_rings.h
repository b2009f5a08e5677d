// Figures of a server over the last month in bounded memory: a sample a second, and means over
// longer and longer steps, each level kept for a set time.
#ifndef FRESHET_SERVER_OPS_HISTORY_RINGS_H_
#define FRESHET_SERVER_OPS_HISTORY_RINGS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace freshet {

// Figures by name; NaN = none.
using Figures = std::map<std::string, double>;

// One step of a level. Value type, thread-compatible.
struct HistoryRow {
  int64_t at = 0;              // Unix seconds at which the step begins, a multiple of its length
  std::vector<double> values;  // by series; values beyond the end are NaN
};

struct HistoryLevel {
  int64_t step = 0;  // seconds
  size_t rows = 0;   // that the level keeps
  [[nodiscard]] int64_t span() const { return step * static_cast<int64_t>(rows); }
};

// The rings of all levels. Thread-compatible.
class HistoryRings {
 public:
  // Each level holds somewhat more than the plot drawn from it: 15 minutes, an hour, a day, a week
  // and 30 days. A step is a multiple of the one before.
  static constexpr std::array<HistoryLevel, 5> kLevels = {
      {{1, 1200}, {10, 720}, {60, 1500}, {600, 1100}, {3600, 750}}};
  // Further names are left out.
  static constexpr size_t kMaxSeries = 64;

  // Adds the figures of a second, if it comes after the last one.
  void Add(int64_t second, const Figures& figures);
  // Takes a stored row of a level. To be called in rising order of time, before Add. Precondition:
  // the row's values fit the names.
  void Restore(size_t level, HistoryRow row);
  // Fills gaps in the longer steps from the shorter ones. To be called once all rows are restored.
  void FinishRestoring();
  // The index of a name, which is added; kMaxSeries = there is no room.
  size_t SeriesOf(const std::string& name);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // Oldest first, whole steps only.
  [[nodiscard]] const std::deque<HistoryRow>& rows(size_t level) const { return rows_[level]; }
  // The present state of unfinished steps, oldest first: the one under way, and the one before if
  // its last part is not over.
  [[nodiscard]] std::vector<HistoryRow> Unfinished(size_t level) const;

  // The level for a window of `window` seconds: the first that spans it, whose rows are fine
  // enough.
  [[nodiscard]] static size_t LevelFor(int64_t window);

 private:
  // The sums of an unfinished step.
  struct Sums {
    int64_t at = -1;
    std::vector<double> sums;
    std::vector<uint32_t> counts;
  };

  void Push(size_t level, HistoryRow row);
  // Adds the row of the level below, which belongs to a step of `level`.
  void Accumulate(size_t level, const HistoryRow& row);
  static void AddTo(const HistoryRow& row, Sums* sums);
  [[nodiscard]] static HistoryRow MeanOf(const Sums& sums);

  std::vector<std::string> names_;
  std::map<std::string, size_t> indexes_;
  std::array<std::deque<HistoryRow>, kLevels.size()> rows_;
  std::array<Sums, kLevels.size()> sums_;  // unused for the first level
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HISTORY_RINGS_H_
