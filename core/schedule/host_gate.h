// Politeness: which hosts may be fetched from now. A host is free when its block is over, its delay
// since the last assignment has passed, and fewer than its limit of pages are out.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GATE_H_
#define FRESHET_CORE_SCHEDULE_HOST_GATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/page.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// Politeness of hosts that have none of their own; zero: none. Value type, thread-compatible.
struct PolitenessDefaults {
  Duration min_delay;          // between two assignments of a host
  uint32_t max_in_flight = 0;  // pages of a host that are out at a time
  Duration min_page_interval;  // between two crawls of a page
  bool operator==(const PolitenessDefaults&) const = default;
};

// A host without pages of which nothing need be kept is forgotten: its owner asks for those whose
// time has come, forgets them in the store, and then here.
//
// Owner thread only. HostIds are dense; one that was forgotten is given to a later host.
class HostGate {
 public:
  // `forgiven_in`: HostBackoff::quiet.
  explicit HostGate(const PolitenessDefaults& defaults,
                    Duration forgiven_in = Duration::Seconds(600))
      : throttles_forgiven_in_(forgiven_in) {
    SetDefaults(defaults);
  }

  void SetDefaults(const PolitenessDefaults& defaults);
  [[nodiscard]] const PolitenessDefaults& defaults() const { return defaults_; }

  // What the host has instead of the defaults, for as long as it is known; nullopt: those.
  void SetDefaultsOf(HostId host, const std::optional<PolitenessDefaults>& defaults);
  [[nodiscard]] const PolitenessDefaults& DefaultsOf(HostId host) const {
    return DefaultsOf(hosts_.at(host.value()));
  }

  // The group that the host is in from now on, for as long as it is known; null: none. What the
  // group bears is not part of FreeAt.
  void SetGroup(HostId host, std::shared_ptr<const HostGroup> group);
  // Null: none.
  [[nodiscard]] const std::shared_ptr<const HostGroup>& GroupOf(HostId host) const {
    return groups_.group(GroupIdOf(host));
  }
  // 0: none.
  [[nodiscard]] GroupId GroupIdOf(HostId host) const { return hosts_.at(host.value()).group; }
  [[nodiscard]] const HostGroups& groups() const { return groups_; }
  [[nodiscard]] HostGroups& groups() { return groups_; }

  // The id of the host; a new one for an unknown name.
  HostId Intern(const std::string& host);
  [[nodiscard]] std::optional<HostId> Find(std::string_view host) const;
  [[nodiscard]] const HostRecord& record(HostId host) const;
  [[nodiscard]] uint32_t in_flight(HostId host) const;
  // Of these, picks whose lease is not open yet.
  [[nodiscard]] uint32_t picks(HostId host) const { return hosts_.at(host.value()).picks; }
  [[nodiscard]] uint32_t pages(HostId host) const { return hosts_.at(host.value()).pages; }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  // Ids are below this; some may belong to no host now.
  [[nodiscard]] uint32_t id_limit() const { return static_cast<uint32_t>(hosts_.size()); }

  // Replaces what is known of the host of that name.
  HostId Put(const HostRecord& record);

  // A page of the host is picked for the tick `at`. Then either its lease opens, and ends later, or
  // it is put back: the host is then as if it had not been picked, once no other pick is out.
  void Pick(HostId host, Instant at);
  void OpenLease(HostId host, Instant assigned);
  void EndLease(HostId host);
  // A page of the host was assigned at `at`, whatever has become of that.
  void NoteAssignment(HostId host, Instant at);
  void PutBack(HostId host);

  // The instant from which the host is free; infinite while its limit is reached.
  [[nodiscard]] Instant FreeAt(HostId host) const;
  // The least time between two assignments of the host.
  [[nodiscard]] Duration MinDelay(HostId host) const;
  // The least time between two crawls of a page of the host.
  [[nodiscard]] Duration PageInterval(HostId host) const;

  // A page of the host came or went.
  void AddPage(HostId host) { ++hosts_.at(host.value()).pages; }
  void RemovePage(HostId host);
  // Has the host looked at once its delay and block are over and what it answered is forgiven, if
  // it has no page.
  void Rest(HostId host);
  // Appends hosts to forget, at most `max`: each has no page, nothing set for it, and nothing of
  // that running. Each is told once, and again after Rest.
  void TakeRested(Instant now, size_t max, std::vector<HostId>* hosts);
  [[nodiscard]] Instant next_rested() const {
    return resting_.empty() ? Instant::Infinite() : resting_.top().until;
  }
  [[nodiscard]] bool CanForget(HostId host, Instant now) const;
  // Precondition: CanForget, at some instant.
  void Forget(HostId host);

 private:
  struct Host {
    HostRecord record;
    uint32_t in_flight = 0;  // picks and leases
    uint32_t picks = 0;      // whose lease is not open yet
    Instant last_pick;       // of these
    uint32_t pages = 0;
    Instant resting_until = Instant::Infinite();   // of its entry in resting_ that counts
    std::unique_ptr<PolitenessDefaults> defaults;  // null: those of all
    GroupId group;
  };
  struct Resting {
    Instant until;
    HostId host;
    bool operator>(const Resting& other) const { return until > other.until; }
  };
  [[nodiscard]] const PolitenessDefaults& DefaultsOf(const Host& host) const {
    return host.defaults == nullptr ? defaults_ : *host.defaults;
  }
  // When the delay since an assignment is over; none: there was no assignment.
  [[nodiscard]] Instant Delayed(const Host& host, Instant last) const;
  // When neither delay nor block is running any more.
  [[nodiscard]] Instant RestedAt(const Host& host) const;
  // And nothing that the host has answered counts any more.
  [[nodiscard]] Instant ForgottenAt(const Host& host) const;

  PolitenessDefaults defaults_;
  Duration throttles_forgiven_in_;
  // What the host is to its group.
  [[nodiscard]] static HostGroups::Load LoadOf(const Host& host) {
    return {.in_flight = host.in_flight,
            .picks = host.picks,
            .last_pick = host.last_pick,
            .last_assignment = host.record.last_assignment};
  }

  std::vector<Host> hosts_;  // by HostId
  HostGroups groups_;
  absl::flat_hash_map<std::string, HostId> ids_;
  std::vector<HostId> free_ids_;
  std::priority_queue<Resting, std::vector<Resting>, std::greater<>> resting_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GATE_H_
