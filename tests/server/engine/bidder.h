// A stand-in for a shard, for tests of how bids are ranked: an index with pages of several classes.
// The tests compare each pick with all pages, one by one.
#ifndef FRESHET_TESTS_SERVER_ENGINE_BIDDER_H_
#define FRESHET_TESTS_SERVER_ENGINE_BIDDER_H_

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/schedule/classed_index.h"
#include "core/schedule/pick.h"
#include "server/engine/bids.h"

namespace freshet {

inline constexpr Instant kFirst = Instant::FromUnixSeconds(1'700'000'000);
inline constexpr double kTicksPerSecond = 100;
inline constexpr size_t kShards = 3;
inline constexpr uint32_t kPagesOfClass = 30;
// The classes of these tests.
inline constexpr CrawlClass kCommon = 0;
inline constexpr CrawlClass kDear = 1;   // has the highest values
inline constexpr CrawlClass kCheap = 2;  // has the lowest values
inline constexpr CrawlClass kCapped = 3;
inline constexpr std::array<double, 4> kImportance = {1, 20, 0.01, 5};

// The pages of a shard in all classes. Thread-compatible.
class Bidder {
 public:
  explicit Bidder(uint64_t seed) : random_(seed) {
    (void)gate_.Intern("a.test");
    for (CrawlClass crawl_class = 0; crawl_class < kImportance.size(); ++crawl_class) {
      for (uint32_t i = 0; i < kPagesOfClass; ++i) {
        pages_.push_back({.crawl_class = crawl_class});
        const double change_rate = 0.05 * (0.5 + random_.Uniform());
        IndexEntry& entry = pages_.back().entry;
        PageRates rates;
        rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = change_rate;
        entry.policy = {.kind = PolicyKind::kGreedy};
        entry.rates = MakeIndexRates(static_cast<float>(kImportance[crawl_class]), rates);
        entry.since = kFirst - Duration::FromSeconds(100 * random_.Uniform());
        index_.Put(Last(), entry, crawl_class);
      }
    }
  }

  ShardBid Bid(const TickOwners& owners, size_t ticks, Instant at) {
    ShardBid bid;
    BidChoice choice(owners, 0);
    const auto take = [&](ClassSet among, bool /*forced_first*/) -> std::optional<Pick> {
      const auto best = index_.Best(at, among);
      if (!best) return std::nullopt;
      index_.Suspend(best->page);
      return Pick{.page = PageNumber(best->page.value()),
                  .value = best->value,
                  .crawl_class = best->crawl_class};
    };
    for (size_t i = 0; i < ticks && choice.Bid(take, &bid); ++i) {
    }
    return bid;
  }
  void PutBack(PageNumber page) { index_.Resume(PageId(static_cast<uint32_t>(page.value()))); }
  void Crawl(PageNumber page, Instant at) {
    const PageId id(static_cast<uint32_t>(page.value()));
    Page& its = pages_[id.value()];
    its.entry.since = at;
    its.entry.exponent = 0;
    index_.Put(id, its.entry, its.crawl_class);
    index_.Resume(id);
  }
  // Makes all pages of the class eligible, or none.
  void Offer(CrawlClass crawl_class, bool offered) {
    for (uint32_t i = 0; i < pages_.size(); ++i) {
      if (pages_[i].crawl_class != crawl_class || pages_[i].offered == offered) continue;
      pages_[i].offered = offered;
      offered ? index_.Resume(PageId(i)) : index_.Suspend(PageId(i));
    }
  }

  struct Page {
    IndexEntry entry;
    CrawlClass crawl_class = 0;
    bool offered = true;
    bool taken = false;  // taken by an earlier tick of the same hand-out
  };
  // Returns the highest value among eligible pages of these classes; below 0 = none is eligible.
  [[nodiscard]] double BestOf(ClassSet among, Instant at) const {
    double best = -1;
    for (const Page& page : pages_) {
      if (!page.offered || page.taken || (among & SetOf(page.crawl_class)) == 0) continue;
      best = std::max(best, DecidingValue(page.entry, at));
    }
    return best;
  }
  [[nodiscard]] Page& at(PageNumber page) { return pages_[page.value()]; }

 private:
  [[nodiscard]] PageId Last() const { return PageId(static_cast<uint32_t>(pages_.size() - 1)); }

  Random random_;
  HostGate gate_{PolitenessDefaults()};
  ClassedIndex index_{gate_};
  std::vector<Page> pages_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SERVER_ENGINE_BIDDER_H_
