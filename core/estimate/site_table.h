// The site models of a shard: one for all hosts, and one for each host that has a seat.
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

// Holds the models by number. Number 0 stands for all hosts together, and is the model of hosts
// without a seat. A number that has lost its host stands for all hosts until it is reassigned.
//
// A seat is room for the model of one host. Seats are limited (limits::kMaxSiteModels), and go to
// the hosts with the most evidence (crawls and pages), in whatever order hosts arrive. Hosts
// without a seat are counted by the heavy hitters' algorithm of Misra and Gries (1982) with
// weights. At most limits::kMaxSiteModels hosts are counted at a time.
//
// As long as no shard has more hosts than seats, the models do not depend on how hosts are divided
// among shards: they are identical to the last bit. The numbers of sites can differ. If there are
// more hosts, those without a seat use the model of all hosts. The more shards there are, the fewer
// such hosts remain.
//
// Owner thread only, except where a comment says otherwise.
class SiteTable {
 public:
  SiteTable();

  [[nodiscard]] uint16_t NumberOf(const std::string& host) const;
  [[nodiscard]] const SiteModel& model(uint16_t number) const {
    return sites_[Known(number)].model;
  }
  // The counts to which events and epochs add: those of the page's site or, if the host has no
  // seat, those of the page's slot.
  [[nodiscard]] SiteCounts& counts(uint16_t number, PageNumber page) {
    const size_t known = Known(number);
    return sites_[known].host.empty() ? slot_counts_[SlotOf(page)] : sites_[known].counts;
  }
  // number_limit: all numbers are below this. host: the host of a number; empty = the number stands
  // for all hosts.
  [[nodiscard]] size_t number_limit() const { return sites_.size(); }
  [[nodiscard]] const std::string& host(uint16_t number) const { return sites_[number].host; }
  [[nodiscard]] size_t size() const { return numbers_.size() + 1; }
  // Approximate memory in bytes. O(sites).
  [[nodiscard]] size_t Bytes() const;

  // An epoch: call Begin, Collect for every page, EndCollecting, Learn and Finish. A second Begin
  // drops an unfinished epoch.
  void Begin();
  // Collects a page, and returns the number of its site. A host without a seat can get one in this
  // call.
  uint16_t Collect(const std::string& host, PageNumber number, const PagePosterior& page);
  void EndCollecting();
  // Returns true if the models come from a finished epoch, of this run or an earlier one. Otherwise
  // they are defaults.
  [[nodiscard]] bool learned() const { return learned_; }

  // Sums and Learn take a long time, so they may run on another thread between EndCollecting and
  // Finish. Meanwhile the owner may call all functions except Begin, Collect and Restore.
  //
  // Sums returns the collected sums, for Learn of this table and of the other shards.
  [[nodiscard]] EpochSums Sums() const;
  // Learns the models of this shard's hosts and of all hosts, from the sums `all`. The counts are
  // multiplied by `fade` in (0, 1]. Stops early once `stop` is set; the result is then useless.
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, double fade,
                                   const std::atomic<bool>& stop) const;
  // Makes the learned models current. O(sites).
  void Finish(LearnedSites learned, double fade);

  [[nodiscard]] std::string Serialise() const;
  // Ignores text of the previous version. For other text, returns InvalidArgument and changes
  // nothing.
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
  // The numbers of sites with a host, sorted by host.
  [[nodiscard]] std::vector<uint16_t> NumbersByName() const;
  void CountSeatless(const std::string& host, double evidence);
  // Chooses the seats to vacate: those of hosts without pages, and those of hosts with little
  // evidence if there are hosts without a seat that have more.
  [[nodiscard]] std::vector<std::pair<uint16_t, std::string>> Vacate() const;
  [[nodiscard]] Counts CountsNow() const;
  // Writes the table with `learned` (nullptr = the current models) and `counts`.
  [[nodiscard]] std::string Serialise(const LearnedSites* learned, const Counts& counts) const;

  std::vector<Site> sites_;
  bool learned_ = false;
  // By slot, for the pages whose hosts have no seat.
  absl::flat_hash_map<Slot, SiteCounts> slot_counts_;
  absl::flat_hash_map<Slot, SiteLearner> slot_learners_;
  Counts collected_;  // as of EndCollecting
  std::vector<uint16_t> free_;
  absl::flat_hash_map<std::string, uint16_t> numbers_;
  absl::flat_hash_map<std::string, double> seatless_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_TABLE_H_
