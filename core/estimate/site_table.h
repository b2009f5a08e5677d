// The site models of a shard: one for all, and one for each host that has earned a seat.
#ifndef FRESHET_CORE_ESTIMATE_SITE_TABLE_H_
#define FRESHET_CORE_ESTIMATE_SITE_TABLE_H_

#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/id_limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/estimate/site.h"
#include "core/estimate/site_learner.h"
#include "core/model/page_number.h"

namespace freshet {

// Holds the models by number: 0 stands for all hosts together and is the model of hosts without a
// seat. A number keeps its meaning for pages that were not estimated again since; a number that
// lost its host stands for all until it is reassigned.
//
// Seats are limited (limits::kMaxSiteModels) and go to the hosts with most evidence (crawls and
// pages), in any order of arrival: the heavy hitters' algorithm of Misra and Gries (1982) with
// weights counts hosts without a seat, in as much memory again.
//
// Models do not depend on the division of hosts among shards, to the last bit, as long as no shard
// has more hosts than seats; numbers of sites do. Past that, hosts without a seat take the model of
// all; with more shards there are fewer such hosts.
//
// Owner thread only, except where a comment says otherwise.
class SiteTable {
 public:
  SiteTable();

  [[nodiscard]] uint16_t NumberOf(const std::string& host) const;
  [[nodiscard]] const SiteModel& model(uint16_t number) const {
    return sites_[Known(number)].model;
  }
  // The counts that events and epochs fill: of a site, or of the pages of a slot whose hosts have
  // no seat.
  [[nodiscard]] SiteCounts& counts(uint16_t number, PageNumber page) {
    const size_t known = Known(number);
    return sites_[known].host.empty() ? slot_counts_[SlotOf(page)] : sites_[known].counts;
  }
  // Numbers are below this. The host of a number: empty = it stands for all hosts.
  [[nodiscard]] size_t number_limit() const { return sites_.size(); }
  [[nodiscard]] const std::string& host(uint16_t number) const { return sites_[number].host; }
  [[nodiscard]] size_t size() const { return numbers_.size() + 1; }
  // Bytes of memory, about. O(sites).
  [[nodiscard]] size_t Bytes() const;

  // An epoch: Begin, Collect every page, EndCollecting, Learn, Finish. A second Begin drops an
  // unfinished one.
  void Begin();
  // Collects a page, and returns the number of its site, which the host may have got just now.
  uint16_t Collect(const std::string& host, PageNumber number, const PagePosterior& page);
  void EndCollecting();
  // Whether the models come from a finished epoch, of this run or before; else they are defaults.
  [[nodiscard]] bool learned() const { return learned_; }

  // These two take long. Between EndCollecting and Finish they may run on another thread while the
  // owner may call all but Begin, Collect and Restore.
  //
  // The collected sums, for Learn of this table and of the other shards.
  [[nodiscard]] EpochSums Sums() const;
  // Learns the models of this shard's hosts and of all, from the sums `all`; the counts fade by
  // `fade` in (0, 1]. Breaks off once `stop` is set; the result is then useless.
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, double fade,
                                   const std::atomic<bool>& stop) const;
  // Makes the learned models current. O(sites).
  void Finish(LearnedSites learned, double fade);

  [[nodiscard]] std::string Serialise() const;
  // Ignores text of the version before. InvalidArgument, and nothing changed, for other text.
  [[nodiscard]] Status Restore(std::string_view text);

 private:
  struct Site {
    std::string host;
    SiteModel model;
    SiteCounts counts;
    SiteLearner learner;
    double evidence = 0;  // collected in this epoch
    Site();
  };
  // The counts of all sites and slots, as of one instant.
  struct Counts {
    std::vector<SiteCounts> of_sites;  // by number
    std::map<Slot, SiteCounts> of_slots;
  };

  [[nodiscard]] size_t Known(uint16_t number) const { return number < sites_.size() ? number : 0; }
  // 0 = no seat is left.
  uint16_t GiveSeat(const std::string& host);
  void TakeSeat(uint16_t number);
  // The numbers of sites with a host, in order of the host.
  [[nodiscard]] std::vector<uint16_t> NumbersByName() const;
  void CountSeatless(const std::string& host, double evidence);
  // Chooses seats to vacate: of hosts without pages, and of hosts with least evidence in favour of
  // seatless hosts with more.
  [[nodiscard]] std::vector<std::pair<uint16_t, std::string>> Vacate() const;
  [[nodiscard]] Counts CountsNow() const;
  // Writes the table with `learned` (null = the current models) and `counts`.
  [[nodiscard]] std::string Serialise(const LearnedSites* learned, const Counts& counts) const;

  std::vector<Site> sites_;
  bool learned_ = false;
  // For the pages of a slot whose hosts have no seat.
  absl::flat_hash_map<Slot, SiteCounts> slot_counts_;
  absl::flat_hash_map<Slot, SiteLearner> slot_learners_;
  Counts collected_;  // as of EndCollecting
  std::vector<uint16_t> free_;
  absl::flat_hash_map<std::string, uint16_t> numbers_;
  absl::flat_hash_map<std::string, double> seatless_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_TABLE_H_
