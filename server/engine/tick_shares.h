// Which crawl ids each tick is for, where some have a share or a maximum of the crawl rate.
//
// Ticks are dealt out to the crawl ids that have a share, each by its share, and to all others
// together by what is left of 1: the one that is furthest behind its share has the next tick
// (smooth weighted round robin, as of nginx), so that over any run of ticks each is within one or
// so of its part. A tick goes to the page of highest value of its owner. Where the owner has no
// eligible page at all, the tick goes to the page of highest value of all; nobody is charged for
// it, and the owner is not made up for it. A crawl id with a maximum has a token bucket, and while
// that is empty no tick is for it.
//
// docs/index.md says why the page picked is the exact argmax of those that the tick is for.
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

// Of one class. Value type, thread-compatible.
struct ClassTerms {
  CrawlClass crawl_class = 0;
  std::optional<double> share;   // in (0, 1]; of all classes they sum to at most 1
  std::optional<Rate> max_rate;  // > 0
  bool operator==(const ClassTerms&) const = default;
};

// Whom some ticks in a row are for. Value type, thread-compatible.
struct TickOwners {
  std::vector<ClassSet> of_tick;  // empty: nobody has a share or a maximum
  // Only pages of these are asked for: nobody waits for others.
  ClassSet takers = kAllClasses;
  // Classes that may have fewer pages than there are ticks, and how many.
  std::vector<std::pair<CrawlClass, uint32_t>> limited;
  // By tick, whether pages that are forced go first; empty: at every one.
  std::vector<bool> forced_first;
  [[nodiscard]] bool ForcedFirst(size_t tick) const {
    return forced_first.empty() || forced_first[tick];
  }
};

// What classes may still have of some ticks. Value type, thread-compatible.
class ClassRoom {
 public:
  explicit ClassRoom(const TickOwners& owners);
  // Those that may have another page.
  [[nodiscard]] ClassSet open() const { return open_; }
  // One more page of the class has a tick; true: the class is a limited one.
  bool UseUp(CrawlClass crawl_class);

 private:
  ClassSet open_;
  std::array<uint32_t, limits::kMaxCrawlClasses> left_;
};

// Thread-compatible.
class TickShares {
 public:
  // From now on. Those that had terms before go on with the tokens that they have.
  void Set(const std::vector<ClassTerms>& terms, Instant now);
  [[nodiscard]] bool any() const { return any_; }

  // Whom the next `ticks` ticks are for, the first at `first`.
  [[nodiscard]] TickOwners Next(size_t ticks, Instant first);
  // A page of the class was leased for one of them.
  void Use(CrawlClass crawl_class);

 private:
  struct Share {
    ClassSet owners = 0;
    double part = 0;
    double owed = 0;  // ticks; of all shares they sum to zero
  };
  struct Bucket {
    double per_second = 0;  // 0: no maximum
    double tokens = 0;
    // A crawl id that was without eligible pages can save up its maximum of a second.
    [[nodiscard]] double most() const { return per_second > 1 ? per_second : 1; }
  };

  void Refill(Instant now);
  [[nodiscard]] ClassSet NextOwners();

  bool any_ = false;
  std::vector<Share> shares_;  // the first is that of all without one
  std::array<Bucket, limits::kMaxCrawlClasses> buckets_;
  Instant refilled_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_TICK_SHARES_H_
