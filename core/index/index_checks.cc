// Checks of a running index, for debug builds.
#include <algorithm>
#include <cmath>

#include "core/index/awake_band.h"
#include "core/index/price_index_impl.h"

namespace freshet {
namespace {

// The relative rounding errors of values and lines are at most 1e-11.
constexpr double kSlack = 1e-11;

}  // namespace

bool AwakeBand::Holds() const {
  // Pages renewed after the tier was filled are not checked.
  const auto below = [this](const Lines& lines, size_t i, const Tier& tier) {
    return PlaceIn(tier, lines.slot[i]) != kNone || pages_[lines.slot[i]].since >= tier.since ||
           lines.At(i, tier.end - origin_) <= tier.level + kSlack * std::abs(tier.level);
  };
  for (uint32_t i = 0; i < lines_.size; ++i) {
    if (places_[lines_.slot[i]].line != i || expires_[i] < warm_.end) return false;
    if (!below(lines_, i, warm_)) return false;
    if (i < examined_ && (expires_[i] < next_.end || !below(lines_, i, next_))) return false;
  }
  for (uint32_t i = 0; i < warm_.size; ++i) {
    if (!below(warm_, i, hot_)) return false;
  }
  for (const Tier* tier : {&warm_, &next_, &hot_}) {
    for (uint32_t i = 0; i < tier->size; ++i) {
      if (PlaceIn(*tier, tier->slot[i]) != i) return false;
    }
  }
  return next_.size <= examined_;
}

bool PriceIndex::Impl::Holds(PageId page) const {
  const IndexRecord& record = pages_.record(page);
  const Place place = record.place();
  if (place == Place::kUnfiled) return !filed_;
  if (place != Place::kAsleep && place != Place::kWaiting && place != Place::kAwake) return true;
  const ValueParameters parameters = ValueOf(pages_.PolicyOf(record), record);
  const double s = freshet::ExponentOf(record, parameters.speed, now_);
  const double value = CrawlValue(parameters, s) * (1 - kSlack);
  if (place == Place::kAsleep) return value <= threshold_.value();
  if (place == Place::kAwake) return value <= band_.BoundAt(record.position, t_);
  return value <= waiting_.BoundOf(page);
}

bool PriceIndex::Impl::HoldsForNext(size_t pages) {
  for (; pages > 0 && pages_.room() > 0; --pages) {
    checked_ = (checked_ + 1) % pages_.room();
    if (!Holds(PageId(static_cast<uint32_t>(checked_)))) return false;
  }
  return true;
}

}  // namespace freshet
