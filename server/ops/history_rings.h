// Figures of a server over the last month in bounded memory: one sample per second, and averages
// over longer and longer steps. Each level is kept for a fixed time.
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
  int64_t at = 0;              // Unix seconds when the step begins, a multiple of its length
  std::vector<double> values;  // by series; values beyond the end are NaN
};

struct HistoryLevel {
  int64_t step = 0;  // seconds
  size_t rows = 0;   // rows that the level keeps
  [[nodiscard]] int64_t span() const { return step * static_cast<int64_t>(rows); }
};

// The rings of all levels. Thread-compatible.
class HistoryRings {
 public:
  // Each level holds somewhat more than the plot that uses it, which shows 15 minutes, an hour, a
  // day, a week or 30 days. Each step is a multiple of the previous step.
  static constexpr std::array<HistoryLevel, 5> kLevels = {
      {{1, 1200}, {10, 720}, {60, 1500}, {600, 1100}, {3600, 750}}};
  // Figures with new names beyond this number are ignored.
  static constexpr size_t kMaxSeries = 64;

  // Adds the figures of a second. Ignores them unless the second is later than the last one.
  void Add(int64_t second, const Figures& figures);
  // Adds a stored row to a level. Must be called in ascending order of time, and before Add.
  // Precondition: the row has no more values than there are names.
  void Restore(size_t level, HistoryRow row);
  // Fills gaps in the longer steps from the shorter ones. Must be called once, after all rows are
  // restored.
  void FinishRestoring();
  // The index of a name. Adds the name if it is new; kMaxSeries = there is no room for it.
  size_t SeriesOf(const std::string& name);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The complete steps of a level, oldest first.
  [[nodiscard]] const std::deque<HistoryRow>& rows(size_t level) const { return rows_[level]; }
  // The current state of incomplete steps, oldest first. These are the current step, and also the
  // step before it if the level below has not finished the last part of that step.
  [[nodiscard]] std::vector<HistoryRow> Unfinished(size_t level) const;

  // The level for a window of `window` seconds: the finest one that covers the window.
  [[nodiscard]] static size_t LevelFor(int64_t window);

 private:
  // The sums of an incomplete step.
  struct Sums {
    int64_t at = -1;
    std::vector<double> sums;
    std::vector<uint32_t> counts;
  };

  void Push(size_t level, HistoryRow row);
  // Adds a row of the level below to the step of `level` that contains it.
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
