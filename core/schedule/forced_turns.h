// Counts the turns of forced pages: each pick of a forced page is a turn of its client, its crawl
// id and its registrable domain. Clients, crawl ids and domains take turns, so that nobody gains by
// using more crawl ids or domains, which cost nothing.
//
// The page whose owner had fewer recent turns is picked first. Among pages of one owner, the page
// with the smaller maximum of two counts is picked first: the turns of its crawl id and the turns
// of its domain. So neither many domains under one crawl id nor many crawl ids with one domain give
// an advantage. If these maxima are equal, the domain with fewer turns is first, then the page that
// has been forced the longest.
#ifndef FRESHET_CORE_SCHEDULE_FORCED_TURNS_H_
#define FRESHET_CORE_SCHEDULE_FORCED_TURNS_H_

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"

namespace freshet {

// The turn that a forced page takes. Equal on all shards of a process, never stored. Value type,
// thread-compatible.
struct ForcedTurn {
  // The client whose share the page's crawl id counts against, or the crawl id itself if an
  // operator has made settings for it; 0 = not known.
  uint64_t owner = 0;
  uint64_t crawl = 0;                   // 0 = not known
  GroupId domain;                       // the domain of the host (core/schedule/domain.h); 0 = none
  Instant since = Instant::Infinite();  // when the page became forced; infinite = not forced
};

// Counts recent turns. Memory is bounded, for some thousand turns. Thread-compatible.
class ForcedTurns {
 public:
  // The rank of a turn. The turn with the smallest rank is first.
  struct Rank {
    double of_owner = 0;
    double of_crawl_or_domain = 0;
    double of_domain = 0;
    Instant since;

    [[nodiscard]] bool operator<(const Rank& other) const {
      return std::tie(of_owner, of_crawl_or_domain, of_domain, since) <
             std::tie(other.of_owner, other.of_crawl_or_domain, other.of_domain, other.since);
    }
  };

  // The rank of the turn. A turn without a domain ranks no later than any other turn of the same
  // owner and crawl id with the same `since`.
  [[nodiscard]] Rank Of(const ForcedTurn& turn) const {
    const double of_domain = turn.domain == GroupId() ? 0 : Lately(turn.domain.value(), domains_);
    const double of_crawl = Lately(turn.crawl, crawls_);
    return {.of_owner = Lately(turn.owner, owners_),
            .of_crawl_or_domain = std::max(of_crawl, of_domain),
            .of_domain = of_domain,
            .since = turn.since};
  }
  // Counts a turn.
  void Note(const ForcedTurn& turn) {
    // The weight of a turn relative to later ones halves with every 140 turns.
    constexpr double kGrowth = 1.005;
    constexpr double kMostWeight = 1e6;
    owners_[turn.owner] += weight_;
    crawls_[turn.crawl] += weight_;
    if (turn.domain != GroupId()) domains_[turn.domain.value()] += weight_;
    weight_ *= kGrowth;
    if (weight_ < kMostWeight) return;
    weight_ /= kMostWeight;
    for (Counts* counts : {&owners_, &crawls_, &domains_}) {
      absl::erase_if(*counts, [](auto& entry) { return (entry.second /= kMostWeight) < 1e-3; });
    }
  }

 private:
  // Sums of weights of turns, by key. Later turns have more weight.
  using Counts = absl::flat_hash_map<uint64_t, double>;

  [[nodiscard]] static double Lately(uint64_t key, const Counts& counts) {
    const auto it = counts.find(key);
    return it == counts.end() ? 0 : it->second;
  }

  Counts owners_;
  Counts crawls_;
  Counts domains_;
  double weight_ = 1;  // the weight of the next turn
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FORCED_TURNS_H_
