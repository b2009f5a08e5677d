#include "core/schedule/freshness_sample.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
namespace {

double FreshAt(const FreshnessSample::Page& page, Instant now) {
  const double elapsed = std::max(0.0, (now - page.since).seconds());
  return std::exp(-(page.staleness + page.rate * elapsed));
}

}  // namespace

void FreshnessSample::Put(PageId id, uint64_t fingerprint, const Page& page) {
  if (fingerprint > highest_) return;
  sample_.insert_or_assign(id, Sampled{fingerprint, page});
  // Stops at fingerprint 0: in a store that was tampered with, more pages than fit can have this
  // fingerprint.
  while (sample_.size() > kMaxSample && highest_ > 0) Halve();
}

void FreshnessSample::Halve() {
  highest_ /= 2;
  absl::erase_if(sample_,
                 [this](const auto& entry) { return entry.second.fingerprint > highest_; });
}

BelievedFreshness FreshnessSample::Sum(Instant now, uint64_t pages) const {
  BelievedFreshness sum;
  sum.pages = pages;
  if (sample_.empty()) return sum;
  for (const auto& [id, sampled] : sample_) {
    const Page& page = sampled.page;
    const double fresh = FreshAt(page, now);
    sum.importance += page.importance;
    sum.fresh_importance += page.importance * fresh;
    sum.fresh_pages += fresh;
    sum.overdue_pages += page.overdue_from <= now ? 1 : 0;
  }
  const auto taken = static_cast<double>(sample_.size());
  const double scale = static_cast<double>(pages) / taken;
  if (sample_.size() < pages) {
    // Ratio estimates: the variance of sum(w x) / sum(w) is sum(w^2 (x - ratio)^2) / sum(w)^2.
    const double share = sum.fresh_pages / taken;
    const double weighted = sum.importance > 0 ? sum.fresh_importance / sum.importance : 0;
    double squares = 0;
    double weighted_squares = 0;
    for (const auto& [id, sampled] : sample_) {
      const Page& page = sampled.page;
      const double fresh = FreshAt(page, now);
      squares += (fresh - share) * (fresh - share);
      const double part = page.importance * (fresh - weighted);
      weighted_squares += part * part;
    }
    sum.pages_share_error = std::sqrt(squares) / taken;
    if (sum.importance > 0)
      sum.importance_share_error = std::sqrt(weighted_squares) / sum.importance;
  }
  sum.importance *= scale;
  sum.fresh_importance *= scale;
  sum.fresh_pages *= scale;
  sum.overdue_pages *= scale;
  return sum;
}

}  // namespace freshet
