// Divides ticks among crawl ids if some of them have a share or a maximum of the crawl rate.
//
// Each crawl id with a share owns that share of the ticks, and all other crawl ids together own the
// rest. The crawl id that is furthest behind its share owns the next tick (smooth weighted round
// robin, as in nginx). So over any run of ticks, each gets its part within about one tick. A tick
// goes to its owner's page of highest value. If the owner has no eligible page, the tick goes to
// the page of highest value of all. The crawl id of that page is not charged for the tick, and the
// owner gets no other tick instead. A crawl id with a maximum has a token bucket, and gets no tick
// while the bucket is empty.
//
// docs/index.md explains why the picked page is the exact argmax of the pages for which the tick is
// meant.
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
  std::optional<double> share;   // in (0, 1]; the sum over all classes is at most 1
  std::optional<Rate> max_rate;  // > 0
  bool operator==(const ClassTerms&) const = default;
};

// The owners of consecutive ticks. Value type, thread-compatible.
struct TickOwners {
  std::vector<ClassSet> of_tick;  // empty = no class has a share or a maximum
  // Only pages of these classes are requested, because no worker takes others.
  ClassSet takers = kAllClasses;
  // Classes that may get fewer pages than there are ticks, each with its maximum number of pages.
  std::vector<std::pair<CrawlClass, uint32_t>> limited;
  // By tick: whether forced pages go first; empty = at every tick.
  std::vector<bool> forced_first;
  [[nodiscard]] bool ForcedFirst(size_t tick) const {
    return forced_first.empty() || forced_first[tick];
  }
};

// Counts how many more pages each class may get in some ticks. Value type, thread-compatible.
class ClassRoom {
 public:
  explicit ClassRoom(const TickOwners& owners);
  // The classes that may get another page.
  [[nodiscard]] ClassSet open() const { return open_; }
  // Counts one more page of the class. Returns true if the class is limited.
  bool UseUp(CrawlClass crawl_class);

 private:
  ClassSet open_;
  std::array<uint32_t, limits::kMaxCrawlClasses> left_;
};

// The shares. Thread-compatible.
class TickShares {
 public:
  // Sets the terms from now on. Classes that had a maximum before keep their tokens.
  void Set(const std::vector<ClassTerms>& terms, Instant now);
  [[nodiscard]] bool any() const { return any_; }

  // The owners of the next `ticks` ticks. `first`: the instant of the first one.
  [[nodiscard]] TickOwners Next(size_t ticks, Instant first);
  // Notes that a page of the class was leased for a tick.
  void Use(CrawlClass crawl_class);

 private:
  struct Share {
    ClassSet owners = 0;
    double part = 0;
    double owed = 0;  // in ticks; the sum over all shares is 0
  };
  struct Bucket {
    double per_second = 0;  // 0 = no maximum
    double tokens = 0;
    // A crawl id without eligible pages can save up the tokens of one second, at least 1.
    [[nodiscard]] double most() const { return per_second > 1 ? per_second : 1; }
  };

  void Refill(Instant now);
  [[nodiscard]] ClassSet NextOwners();

  bool any_ = false;
  std::vector<Share> shares_;  // the first is that of all classes without a share
  std::array<Bucket, limits::kMaxCrawlClasses> buckets_;
  Instant refilled_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TICK_SHARES_H_
