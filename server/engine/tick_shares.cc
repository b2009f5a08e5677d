#include "server/engine/tick_shares.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
ClassRoom::ClassRoom(const TickOwners& owners) : open_(owners.takers) {
  left_.fill(UINT32_MAX);
  for (const auto& [crawl_class, most] : owners.limited) {
    left_[crawl_class] = most;
    if (most == 0) open_ &= ~SetOf(crawl_class);
  }
}

bool ClassRoom::UseUp(CrawlClass crawl_class) {
  uint32_t& left = left_[crawl_class];
  if (left == UINT32_MAX) return false;
  if (--left == 0) open_ &= ~SetOf(crawl_class);
  return true;
}

void TickShares::Set(const std::vector<ClassTerms>& terms, Instant now) {
  Refill(now);
  shares_.assign(1, Share{.owners = kAllClasses, .part = 1});
  std::array<Bucket, limits::kMaxCrawlClasses> buckets{};
  any_ = !terms.empty();
  for (const ClassTerms& its : terms) {
    CHECK(its.crawl_class > 0 && its.crawl_class < limits::kMaxCrawlClasses, "class {}",
          its.crawl_class);
    if (its.max_rate) {
      Bucket& bucket = buckets[its.crawl_class];
      bucket.per_second = its.max_rate->per_second();
      bucket.tokens = std::min(buckets_[its.crawl_class].tokens, bucket.most());
    }
    if (!its.share) continue;
    shares_.front().owners &= ~SetOf(its.crawl_class);
    shares_.front().part -= *its.share;
    shares_.push_back({.owners = SetOf(its.crawl_class), .part = *its.share});
  }
  // If the shares sum to 1, the other crawl ids must own no tick, despite rounding errors.
  constexpr double kNothing = 1e-9;
  if (shares_.front().part < kNothing) shares_.front().part = 0;
  buckets_ = buckets;
}

void TickShares::Refill(Instant now) {
  if (now <= refilled_) return;
  const double seconds = refilled_.is_none() ? 0 : (now - refilled_).seconds();
  refilled_ = now;
  for (Bucket& bucket : buckets_) {
    if (bucket.per_second == 0) continue;
    bucket.tokens = std::min(bucket.tokens + bucket.per_second * seconds, bucket.most());
  }
}

ClassSet TickShares::NextOwners() {
  Share* next = nullptr;
  for (Share& share : shares_) {
    share.owed += share.part;
    if (share.part > 0 && (next == nullptr || share.owed > next->owed)) next = &share;
  }
  CHECK(next != nullptr, "nobody has a share");
  next->owed -= 1;
  return next->owners;
}

TickOwners TickShares::Next(size_t ticks, Instant first) {
  TickOwners owners;
  if (!any_) return owners;
  Refill(first);
  owners.of_tick.reserve(ticks);
  for (size_t i = 0; i < ticks; ++i) owners.of_tick.push_back(NextOwners());
  for (size_t i = 1; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (bucket.per_second == 0) continue;
    const double most = std::max(0.0, std::floor(bucket.tokens));
    if (most >= static_cast<double>(ticks)) continue;
    owners.limited.emplace_back(static_cast<CrawlClass>(i), static_cast<uint32_t>(most));
  }
  return owners;
}

void TickShares::Use(CrawlClass crawl_class) {
  if (buckets_[crawl_class].per_second > 0) buckets_[crawl_class].tokens -= 1;
}

}  // namespace freshet
