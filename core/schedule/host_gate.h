// Politeness: decides which hosts are free. A host is free when its block is over, its delay since
// the last assignment has passed, its cap allows one more, fewer pages than its limit are out, and
// it is within its hours of the day.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GATE_H_
#define FRESHET_CORE_SCHEDULE_HOST_GATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/parted_map.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/model/host.h"
#include "core/schedule/domain.h"
#include "core/schedule/gated_host.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_groups.h"
#include "core/schedule/host_rules.h"
#include "core/schedule/host_terms.h"

namespace freshet {

// The hosts of a shard. HostIds are dense; a forgotten one is given to a later host. The functions
// of core/schedule/gated_host.h say what follows for a host. Owner thread only.
class HostGate {
 public:
  // `rules`: nullptr = none. `max_crawl_delay`: the longest delay that a host gets by its
  // robots.txt. `domains`: nullptr = hosts have no domains.
  explicit HostGate(const PolitenessDefaults& defaults,
                    std::shared_ptr<const HostRules> rules = nullptr,
                    Duration max_crawl_delay = Duration::Seconds(300),
                    DomainNumber domains = nullptr)
      : rules_(rules == nullptr ? std::make_shared<const HostRules>() : std::move(rules)),
        max_crawl_delay_(max_crawl_delay),
        domains_(std::move(domains)) {
    SetDefaults(defaults);
  }

  void SetDefaults(const PolitenessDefaults& defaults);
  [[nodiscard]] const PolitenessDefaults& defaults() const { return defaults_; }

  // Sets the host's own defaults, for as long as the host is known; nullopt = the general ones.
  void SetDefaultsOf(HostId host, const std::optional<PolitenessDefaults>& defaults);

  // The terms in force for the host. Each term comes from the first of these that has it: the
  // settings of the host, the rule that matches it, SetDefaultsOf, the defaults. Then a longer
  // delay that its robots.txt asks for.
  [[nodiscard]] HostTerms TermsOf(HostId id) const;

  // Puts the host into a group, for as long as the host is known; nullptr = none. FreeAt does not
  // include the terms of the group. A new host, and one whose reported address changes, goes into
  // the group of its rule, else of its address.
  void SetGroup(HostId host, std::shared_ptr<const HostGroup> group);
  [[nodiscard]] const HostGroups& groups() const { return groups_; }
  [[nodiscard]] HostGroups& groups() { return groups_; }

  // The id of the host; a new id for an unknown name.
  HostId Intern(const std::string& host);
  [[nodiscard]] std::optional<HostId> Find(std::string_view host) const;
  // Valid as long as the host is known.
  [[nodiscard]] const GatedHost& host(HostId id) const { return hosts_.at(id.value()); }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  // Ids are below this; some may belong to no host now.
  [[nodiscard]] uint32_t id_limit() const { return static_cast<uint32_t>(hosts_.size()); }

  // Replaces the record of the host of that name.
  HostId Put(const HostRecord& record);

  // Says that no later pick is for an earlier instant.
  void Hear(Instant at) { heard_ = std::max(heard_, at); }

  // Pick: a page of the host is picked for the tick `at`. Then either its lease opens, and ends
  // later, or the page is put back. After PutBack the host is as if not picked, once no other pick
  // is out.
  void Pick(HostId host, Instant at);
  void OpenLease(HostId host, Instant assigned);
  void EndLease(HostId host);
  // Records that a page of the host was assigned at `at`, with any result.
  void NoteAssignment(HostId host, Instant at);
  // Takes back the assignment at `at`, which came to nothing. The delay of the host then counts
  // from the assignment before, or from `left` if later; but from `at` if more than one is taken
  // back. The delay of a group continues.
  void TakeBackAssignment(HostId host, Instant at, Instant left);
  void PutBack(HostId host);

  // The instant from which the host is free, as of the latest Hear (core/schedule/gated_host.h).
  [[nodiscard]] Instant FreeAt(HostId id) const {
    return freshet::FreeAt(host(id), TermsOf(id), heard_);
  }
  // Precondition: nothing of the host is out.
  void Forget(HostId host);

 private:
  static void NoteAssignment(GatedHost& host, Instant at);
  // Puts the host into the group of its rule or address.
  void Regroup(HostId host);
  // The load of the host on its group.
  [[nodiscard]] static HostGroups::Load LoadOf(const GatedHost& host) {
    return {.in_flight = host.in_flight,
            .picks = host.picks,
            .last_pick = host.last_pick,
            .last_assignment = host.record.last_assignment};
  }

  PolitenessDefaults defaults_;
  std::shared_ptr<const HostRules> rules_;  // `hosts_` point into these
  Duration max_crawl_delay_;
  DomainNumber domains_;
  SharedGroups shared_groups_;
  Instant heard_;
  // By HostId. Blocks are small: some gates have one host, and none for long.
  SegmentedArray<GatedHost, 12> hosts_;
  HostGroups groups_;
  PartedMap<std::string, HostId> ids_;
  std::vector<HostId> free_ids_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GATE_H_
