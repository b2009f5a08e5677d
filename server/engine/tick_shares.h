// Deals out ticks to crawl ids when some have a share or a maximum of the crawl rate.
//
// Each crawl id with a share gets ticks by its share, and all others together get the rest of 1.
// The one furthest behind its share has the next tick (smooth weighted round robin, as in nginx).
// So over any run of ticks each is within one or so of its part. A tick goes to its owner's page of
// highest value. If the owner has no eligible page at all, the tick goes to the page of highest
// value of all. Nobody is charged, and the owner gets no later tick for it. A crawl id with a
// maximum has a token bucket, and gets no tick while that is empty.
//
// docs/index.md says why the picked page is the exact argmax of the pages that the tick is for.
#ifndef FRESHET_SERVER_ENGINE_TICK_SHARES_H_
#define FRESHET_SERVER_ENGINE_TICK_SHARES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"

namespace freshet {

// The terms of one class. Value type, thread-compatible.
struct ClassTerms {
  CrawlClass crawl_class = 0;
  std::optional<double> share;   // in (0, 1]; over all classes the sum is at most 1
  std::optional<Rate> max_rate;  // > 0
  bool operator==(const ClassTerms&) const = default;
};

// The owners of some ticks in a row. Value type, thread-compatible.
struct TickOwners {
  std::vector<ClassSet> of_tick;  // empty = no class has a share or a maximum
  // Only pages of these classes are asked for: others have no taker.
  ClassSet takers = kAllClasses;
  // Classes that may have fewer pages than there are ticks, and their numbers.
  std::vector<std::pair<CrawlClass, uint32_t>> limited;
  // By tick, whether forced pages go first; empty = at every one.
  std::vector<bool> forced_first;
  [[nodiscard]] bool ForcedFirst(size_t tick) const {
    return forced_first.empty() || forced_first[tick];
  }
};

// The room of classes in some ticks. Value type, thread-compatible.
class ClassRoom {
 public:
  explicit ClassRoom(const TickOwners& owners);
  // The classes that may have another page.
  [[nodiscard]] ClassSet open() const { return open_; }
  // Gives one more page of the class a tick. Returns whether the class is limited.
  bool UseUp(CrawlClass crawl_class);

 private:
  ClassSet open_;
  std::array<uint32_t, limits::kMaxCrawlClasses> left_;
};

// The shares. Thread-compatible.
class TickShares {
 public:
  // Sets the terms from now on. Classes that had terms before keep their tokens.
  void Set(const std::vector<ClassTerms>& terms, Instant now);
  [[nodiscard]] bool any() const { return any_; }

  // The owners of the next `ticks` ticks, the first at `first`.
  [[nodiscard]] TickOwners Next(size_t ticks, Instant first);
  // A page of the class was leased for one of them.
  void Use(CrawlClass crawl_class);

 private:
  struct Share {
    ClassSet owners = 0;
    double part = 0;
    double owed = 0;  // ticks; the sum over all shares is zero
  };
  struct Bucket {
    double per_second = 0;  // 0 = no maximum
    double tokens = 0;
    // A crawl id without eligible pages can save up its maximum of a second.
    [[nodiscard]] double most() const { return per_second > 1 ? per_second : 1; }
  };

  void Refill(Instant now);
  [[nodiscard]] ClassSet NextOwners();

  bool any_ = false;
  std::vector<Share> shares_;  // the first = all classes without a share
  std::array<Bucket, limits::kMaxCrawlClasses> buckets_;
  Instant refilled_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TICK_SHARES_H_
