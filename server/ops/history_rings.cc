#include "server/ops/history_rings.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

int64_t StepBefore(int64_t second, int64_t step) { return second - second % step; }

}  // namespace

size_t HistoryRings::SeriesOf(const std::string& name) {
  const auto known = indexes_.find(name);
  if (known != indexes_.end()) return known->second;
  if (names_.size() >= kMaxSeries) return kMaxSeries;
  indexes_[name] = names_.size();
  names_.push_back(name);
  return names_.size() - 1;
}

void HistoryRings::Add(int64_t second, const Figures& figures) {
  if (!rows_[0].empty() && second <= rows_[0].back().at) return;
  HistoryRow row{.at = second, .values = {}};
  for (const auto& [name, value] : figures) {
    const size_t series = SeriesOf(name);
    if (series == kMaxSeries) continue;
    if (row.values.size() <= series) row.values.resize(series + 1, kNoValue);
    row.values[series] = value;
  }
  Push(0, std::move(row));
}

void HistoryRings::Push(size_t level, HistoryRow row) {
  if (level + 1 < kLevels.size()) Accumulate(level + 1, row);
  std::deque<HistoryRow>& rows = rows_[level];
  rows.push_back(std::move(row));
  if (rows.size() > kLevels[level].rows) rows.pop_front();
}

void HistoryRings::Accumulate(size_t level, const HistoryRow& row) {
  Sums& sums = sums_[level];
  const int64_t at = StepBefore(row.at, kLevels[level].step);
  if (sums.at >= 0 && at > sums.at) Push(level, MeanOf(std::exchange(sums, {})));
  sums.at = at;
  AddTo(row, &sums);
}

void HistoryRings::AddTo(const HistoryRow& row, Sums* to) {
  Sums& sums = *to;
  if (sums.sums.size() < row.values.size()) {
    sums.sums.resize(row.values.size(), 0);
    sums.counts.resize(row.values.size(), 0);
  }
  for (size_t i = 0; i < row.values.size(); ++i) {
    if (!std::isfinite(row.values[i])) continue;
    sums.sums[i] += row.values[i];
    ++sums.counts[i];
  }
}

HistoryRow HistoryRings::MeanOf(const Sums& sums) {
  HistoryRow row{.at = sums.at, .values = {}};
  for (size_t i = 0; i < sums.sums.size(); ++i) {
    row.values.push_back(sums.counts[i] == 0 ? kNoValue : sums.sums[i] / sums.counts[i]);
  }
  return row;
}

std::vector<HistoryRow> HistoryRings::Unfinished(size_t level) const {
  std::vector<Sums> steps;
  if (sums_[level].at >= 0) steps.push_back(sums_[level]);
  // Adds the incomplete steps of the level below, as far as they are known.
  for (const HistoryRow& row : level > 1 ? Unfinished(level - 1) : std::vector<HistoryRow>()) {
    const int64_t at = StepBefore(row.at, kLevels[level].step);
    if (steps.empty() || steps.back().at < at)
      steps.push_back({.at = at, .sums = {}, .counts = {}});
    AddTo(row, &steps.back());
  }
  std::vector<HistoryRow> rows;
  for (const Sums& sums : steps) rows.push_back(MeanOf(sums));
  return rows;
}

void HistoryRings::Restore(size_t level, HistoryRow row) {
  CHECK(row.values.size() <= names_.size());
  std::deque<HistoryRow>& rows = rows_[level];
  if (!rows.empty() && row.at <= rows.back().at) return;
  rows.push_back(std::move(row));
  if (rows.size() > kLevels[level].rows) rows.pop_front();
}

void HistoryRings::FinishRestoring() {
  // Begins with the longest steps, so that each level passes up only restored rows, and no rows
  // created here.
  for (size_t level = kLevels.size() - 1; level > 0; --level) {
    const int64_t known = rows_[level].empty() ? 0 : rows_[level].back().at + kLevels[level].step;
    for (const HistoryRow& row : rows_[level - 1]) {
      if (row.at >= known) Accumulate(level, row);
    }
  }
}

size_t HistoryRings::LevelFor(int64_t window) {
  for (size_t level = 0; level < kLevels.size(); ++level) {
    if (kLevels[level].span() >= window) return level;
  }
  return kLevels.size() - 1;
}

}  // namespace freshet
