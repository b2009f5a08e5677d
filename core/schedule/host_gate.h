// Politeness: decides which hosts are free. A host is free if it is not blocked, its delay since
// the last assignment has passed, its cap allows one more crawl, it has fewer pages in flight than
// its limit, and it is within its hours of the day.
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

// The hosts of a shard. HostIds are dense, and the id of a forgotten host is reused. The functions
// in core/schedule/gated_host.h derive when a host is free. Owner thread only.
class HostGate {
 public:
  // `rules`: nullptr = none. `max_crawl_delay`: the longest delay that robots.txt can set for a
  // host. `domains`: nullptr = hosts have no domains.
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

  // Sets other defaults for the host, which apply while the host is known; nullopt = the general
  // ones.
  void SetDefaultsOf(HostId host, const std::optional<PolitenessDefaults>& defaults);

  // The politeness terms of the host. Each term comes from the first of these that sets it: the
  // host's settings, the rule that matches the host, SetDefaultsOf, the general defaults. If
  // robots.txt asks for a longer delay, that delay is used instead, up to `max_crawl_delay`.
  [[nodiscard]] HostTerms TermsOf(HostId id) const;

  // Puts the host into a group while the host is known; nullptr = none. FreeAt ignores the terms of
  // the group. When a host is new or its reported address changes, it is put into the group of its
  // rule, or else of its domain or address.
  void SetGroup(HostId host, std::shared_ptr<const HostGroup> group);
  [[nodiscard]] const HostGroups& groups() const { return groups_; }
  [[nodiscard]] HostGroups& groups() { return groups_; }

  // The id of the host. An unknown host is added.
  HostId Intern(const std::string& host);
  [[nodiscard]] std::optional<HostId> Find(std::string_view host) const;
  // Valid while the host is known.
  [[nodiscard]] const GatedHost& host(HostId id) const { return hosts_.at(id.value()); }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  // Ids are below this limit. Some of them can be unused.
  [[nodiscard]] uint32_t id_limit() const { return static_cast<uint32_t>(hosts_.size()); }

  // Replaces the record of the host with this name, which is added if it is unknown.
  HostId Put(const HostRecord& record);

  // Declares that no later pick is for an earlier instant.
  void Hear(Instant at) { heard_ = std::max(heard_, at); }

  // Pick records that a page of the host was picked for the tick `at`. After Pick, the caller calls
  // either OpenLease and later EndLease, or PutBack. Once all picks of a host are put back, the
  // host is as if nothing had been picked.
  void Pick(HostId host, Instant at);
  void OpenLease(HostId host, Instant assigned);
  void EndLease(HostId host);
  // Records that a page of the host was assigned at `at`, even if the page was never fetched.
  void NoteAssignment(HostId host, Instant at);
  // Undoes the assignment at `at`, because its page never left the server. The delay of the host
  // then counts from the previous assignment, or from `left` if `left` is later. Only one earlier
  // assignment is known: if that one is undone too, the delay still counts from it. The delay of a
  // group is unchanged.
  void TakeBackAssignment(HostId host, Instant at, Instant left);
  void PutBack(HostId host);

  // The instant from which the host is free (core/schedule/gated_host.h), as of the latest instant
  // that was passed to Hear.
  [[nodiscard]] Instant FreeAt(HostId id) const {
    return freshet::FreeAt(host(id), TermsOf(id), heard_);
  }
  // Removes the host. Precondition: the host has no picks or leases.
  void Forget(HostId host);

 private:
  static void NoteAssignment(GatedHost& host, Instant at);
  // Puts the host into the group of its rule, domain or address.
  void Regroup(HostId host);
  // The load that the host adds to its group.
  [[nodiscard]] static HostGroups::Load LoadOf(const GatedHost& host) {
    return {.in_flight = host.in_flight,
            .picks = host.picks,
            .last_pick = host.last_pick,
            .last_assignment = host.record.last_assignment};
  }

  PolitenessDefaults defaults_;
  std::shared_ptr<const HostRules> rules_;  // hosts_ has pointers into these rules
  Duration max_crawl_delay_;
  DomainNumber domains_;
  SharedGroups shared_groups_;
  Instant heard_;
  // By HostId. Blocks are small, because some gates have only one host and are short-lived.
  SegmentedArray<GatedHost, 12> hosts_;
  HostGroups groups_;
  PartedMap<std::string, HostId> ids_;
  std::vector<HostId> free_ids_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GATE_H_
