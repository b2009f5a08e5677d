// Whose turn it is where pages are forced: pages of clients, crawl ids and registrable domains take
// turns, so that nobody gets more by having more of what costs nothing.
//
// The page goes first whose owner had fewer turns of late. Among pages of one owner that one goes
// first of whose crawl id and domain the one with more turns had fewer: neither many domains under
// one crawl id nor many crawl ids with one domain gain anything. Then that of whose domain had
// fewer, then the one that is late the longest.
#ifndef FRESHET_CORE_SCHEDULE_FORCED_TURNS_H_
#define FRESHET_CORE_SCHEDULE_FORCED_TURNS_H_

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"

namespace freshet {

// Whose turn a forced page takes. The same on all shards of a process, never stored. Value type,
// thread-compatible.
struct ForcedTurn {
  // The client that its crawl id counts for, or the crawl id itself if an operator has set
  // something for it; 0: nobody is known.
  uint64_t owner = 0;
  uint64_t crawl = 0;                   // 0: none is known
  GroupId domain;                       // of its host (core/schedule/domain.h); 0: none
  Instant since = Instant::Infinite();  // since when it is forced; infinite: it is not
};

// Thread-compatible. Takes memory for some thousand turns, however many there were.
class ForcedTurns {
 public:
  // The smaller goes first.
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

  // The rank of the turn. A turn without a domain has a rank that no turn of that owner and crawl
  // id goes before.
  [[nodiscard]] Rank Of(const ForcedTurn& turn) const {
    const double of_domain = turn.domain == GroupId() ? 0 : Lately(turn.domain.value(), domains_);
    const double of_crawl = Lately(turn.crawl, crawls_);
    return {.of_owner = Lately(turn.owner, owners_),
            .of_crawl_or_domain = std::max(of_crawl, of_domain),
            .of_domain = of_domain,
            .since = turn.since};
  }
  void Note(const ForcedTurn& turn) {
    // After some hundred more a turn counts half as much.
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
  // Turns of late, each weighted the more the later it was.
  using Counts = absl::flat_hash_map<uint64_t, double>;

  [[nodiscard]] static double Lately(uint64_t key, const Counts& counts) {
    const auto it = counts.find(key);
    return it == counts.end() ? 0 : it->second;
  }

  Counts owners_;
  Counts crawls_;
  Counts domains_;
  double weight_ = 1;  // of the next one
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FORCED_TURNS_H_
