// Opens wheels and moves the wake threshold.
#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/index/page_filing.h"

namespace freshet {
namespace {

constexpr size_t kPrefetched = 8;

// The value that the share `share` of the sample reaches or exceeds. Reorders the sample, which
// must not be empty.
double HighestOf(std::vector<double>& sample, double share) {
  const auto rank =
      std::min(static_cast<size_t>(share * static_cast<double>(sample.size())), sample.size() - 1);
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end(),
                   std::greater<>());
  return sample[rank];
}

}  // namespace

void PageFiling::FileAll() {
  filed_ = true;
  RenewWheels();
  // Any first threshold is correct, but picks cost less if it is derived from a sample of growing
  // values.
  std::vector<double> sample;
  std::vector<double> still;
  const bool few = unfiled_pages_.size() < kFewUnfiled;
  const auto page_at = [&](size_t i) {
    return few ? unfiled_pages_[i] : PageId(static_cast<uint32_t>(i));
  };
  size_t end = few ? unfiled_pages_.size() : pages_.room();
  while (!few && end > 0 && !pages_.Has(page_at(end - 1))) --end;
  for (size_t i = 0; i < end; i += std::max<size_t>(1, end / 4096)) {
    const PageId page = page_at(i);
    if (pages_.PlaceOf(page) != Place::kUnfiled) continue;
    const IndexEntry entry = *pages_.Find(page);
    const double value = CrawlValue(ValueOf(entry), ExponentAt(entry, now_));
    const bool moves = std::isfinite(entry.exponent) && !entry.since.infinite();
    if (value > 0 && std::isfinite(value)) (moves ? sample : still).push_back(value);
  }
  placed_ = !sample.empty();
  if (!placed_) sample = std::move(still);
  if (!sample.empty()) {
    const double awake = static_cast<double>(2 * TargetAwake());
    threshold_.Rebase(std::log(HighestOf(sample, awake / static_cast<double>(pages_.size()))));
  }
  awake_limit_ = 16 * TargetAwake();
  for (size_t i = 0; i < end; ++i) {
    const PageId page = page_at(i);
    if (pages_.PlaceOf(page) != Place::kUnfiled) continue;
    --unfiled_;
    File(pages_[page], {});
    if (band_.size() > awake_limit_) RaiseThreshold();
  }
  unfiled_pages_ = {};
  DCHECK(unfiled_ == 0);
}

void PageFiling::OpenDue() {
  for (;;) {
    const std::optional<OpenedBucket> opened = wheels_.Open(t_, due_.Room());
    if (!opened) return;
    due_.Add(opened->by, opened->slow_high);
    if (t_ < opened->by) {
      // Buckets that are not due yet can wait for the next pick.
      if (t_ < wheels_.next_due()) return;
      continue;
    }
    WakeAllDue();
    if (band_.size() > awake_limit_) RaiseThreshold();
  }
}

void PageFiling::WakeDue(size_t max) {
  DueBatch& batch = due_.First();
  const size_t end = std::min(batch.entries.size(), batch.next + max);
  while (batch.next < end) {
    const WakeEntry entry = batch.entries[batch.next++];
    const PageRow row = pages_[entry.page];
    if (row.record().place() != Place::kAsleep || row.record().tag() != entry.tag()) continue;
    File(row, Unfile(row));
  }
  if (batch.next == batch.entries.size()) due_.DropFirst();
  if (due_.empty()) return;
  DueBatch& next = due_.First();
  const size_t wanted = std::min(next.entries.size(), next.next + kPrefetched);
  for (; next.fetched < wanted; ++next.fetched) {
    pages_.PrefetchRecord(next.entries[next.fetched].page);
    pages_.PrefetchLevel(next.entries[next.fetched].page);
  }
}

void PageFiling::RenewWheels() {
  wheels_.Renew(pages_.size());
  near_ = std::max(3 / static_cast<double>(wheels_.buckets()),
                   1 / std::sqrt(static_cast<double>(pages_.size())));
}

size_t PageFiling::TargetAwake() const {
  const double root = std::sqrt(static_cast<double>(pages_.size()));
  return static_cast<size_t>(std::clamp(root, 32.0, 16384.0));
}

void PageFiling::MoveThreshold(double log_threshold) {
  const double before = threshold_.log();
  threshold_.Set(log_threshold);
  const double rise = threshold_.log() - before;
  wheels_.MoveThreshold(rise, t_);
  if (rise < 0) due_.ThresholdFell(-rise);
}

void PageFiling::RaiseThreshold() {
  const double value = band_.ValueAtRank(TargetAwake());
  awake_limit_ = std::max(awake_limit_, 2 * band_.size());
  if (!(value > threshold_.value()) || std::isinf(value)) return;
  MoveThreshold(std::log(value));
}

bool PageFiling::LowerThreshold(double step, double enough) {
  if (threshold_.lowest()) return false;
  if (asleep_ == 0) {
    if (placed_ && enough > 0) MoveThreshold(std::min(std::log(enough), threshold_.log()));
    return false;
  }
  double log_threshold = threshold_.log() - step;
  // The threshold need not fall below the value to beat.
  if (enough > 0)
    log_threshold = std::max(log_threshold, std::min(std::log(enough), threshold_.log()) - 1e-6);
  MoveThreshold(log_threshold);
  OpenDue();
  WakeAllDue();
  return true;
}

}  // namespace freshet
