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

// Sites are numbered: 0 stands for all hosts together and is the model of those without a seat. A
// number keeps its meaning for pages that were not re-estimated since; one that lost its host
// stands for all until it is given anew.
//
// Seats are limited (limits::kMaxSiteModels) and go to the hosts of most evidence, crawls and
// pages, wherever they come in order: hosts without a seat are counted by the heavy hitters'
// algorithm of Misra and Gries (1982) with weights, in as much memory again.
//
// What is learned does not depend on how the hosts are divided among shards, to the last bit, as
// long as no shard has more hosts than seats; numbers of sites do. Past that, hosts without a seat
// take the model of all, and with more shards fewer hosts have to.
//
// Owner thread only, but for what says otherwise.
class SiteTable {
 public:
  SiteTable();

  [[nodiscard]] uint16_t NumberOf(const std::string& host) const;
  [[nodiscard]] const SiteModel& model(uint16_t number) const {
    return sites_[Known(number)].model;
  }
  // Counts of ages, filled by events and epochs: of a site, or of the pages of a slot whose host
  // has no seat.
  [[nodiscard]] SiteCounts& counts(uint16_t number, PageNumber page) {
    const size_t known = Known(number);
    return sites_[known].host.empty() ? slot_counts_[SlotOf(page)] : sites_[known].counts;
  }
  // Sites that have a host, and the one of all.
  template <typename F>
  void ForEach(F&& body) const {
    for (size_t i = 0; i < sites_.size(); ++i) {
      if (i == 0 || !sites_[i].host.empty()) body(sites_[i].host, sites_[i].model);
    }
  }
  [[nodiscard]] size_t size() const { return numbers_.size() + 1; }
  // Of memory, about. O(sites).
  [[nodiscard]] size_t Bytes() const;

  // An epoch: Begin, Collect every page, EndCollecting, Learn, Finish. A second Begin drops an
  // unfinished one.
  void Begin();
  // The number of its site, which it may have been given just now.
  uint16_t Collect(const std::string& host, PageNumber number, const PagePosterior& page);
  void EndCollecting();
  // Whether the models are from an epoch that has ended, of this run or before: else they stand for
  // what is not known yet.
  [[nodiscard]] bool learned() const { return learned_; }

  // These two take long. Between EndCollecting and Finish they may run on another thread while the
  // owner goes on with all but Begin, Collect and Restore.
  //
  // What was collected, for Learn of this table and of those of the other shards.
  [[nodiscard]] EpochSums Sums() const;
  // What this shard's hosts and all, whose sums are `all`, have shown; the counts fade by `fade` in
  // (0, 1]. Breaks off, with something to be thrown away, once `stop` is set.
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, double fade,
                                   const std::atomic<bool>& stop) const;
  // Makes it current. O(sites).
  void Finish(LearnedSites learned, double fade);

  [[nodiscard]] std::string Serialise() const;
  // What the version before wrote is passed over. InvalidArgument, and nothing changed, for any
  // other text.
  [[nodiscard]] Status Restore(std::string_view text);

 private:
  struct Site {
    std::string host;
    SiteModel model;
    SiteCounts counts;
    SiteLearner learner;
    double evidence = 0;  // of this epoch
    Site();
  };
  // The counts of all, as of one instant.
  struct Counts {
    std::vector<SiteCounts> of_sites;  // by number
    std::map<Slot, SiteCounts> of_slots;
  };

  [[nodiscard]] size_t Known(uint16_t number) const { return number < sites_.size() ? number : 0; }
  // 0: there is no seat left.
  uint16_t GiveSeat(const std::string& host);
  void TakeSeat(uint16_t number);
  // Of the sites that have a host, in order of it.
  [[nodiscard]] std::vector<uint16_t> NumbersByName() const;
  void CountSeatless(const std::string& host, double evidence);
  // Seats of hosts that have no page any more, and those of the hosts with least evidence for the
  // ones that have more without a seat.
  [[nodiscard]] std::vector<std::pair<uint16_t, std::string>> Vacate() const;
  [[nodiscard]] Counts CountsNow() const;
  // The table with other models and counts; the former may be null.
  [[nodiscard]] std::string Serialise(const LearnedSites* learned, const Counts& counts) const;

  std::vector<Site> sites_;
  bool learned_ = false;
  // Of the pages of a slot whose host has no seat.
  absl::flat_hash_map<Slot, SiteCounts> slot_counts_;
  absl::flat_hash_map<Slot, SiteLearner> slot_learners_;
  Counts collected_;  // as of EndCollecting
  std::vector<uint16_t> free_;
  absl::flat_hash_map<std::string, uint16_t> numbers_;
  absl::flat_hash_map<std::string, double> seatless_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SITE_TABLE_H_
