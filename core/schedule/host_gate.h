// Politeness: which hosts may be fetched from now. A host is free when its block is over, its delay
// since the last assignment has passed, it keeps to its cap, fewer than its limit of pages are out,
// and it is within its hours of the day.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GATE_H_
#define FRESHET_CORE_SCHEDULE_HOST_GATE_H_

#include <algorithm>
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
#include "core/model/host.h"
#include "core/schedule/domain.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_groups.h"
#include "core/schedule/host_rules.h"
#include "core/schedule/host_standing.h"
#include "core/schedule/host_terms.h"
#include "core/schedule/quota.h"

namespace freshet {

// A host without pages of which nothing need be kept is forgotten: its owner asks for those whose
// time has come, forgets them in the store, and then here. Until then a host at rest is one without
// pages and settings, known for what still runs alone: anybody makes such a host by a page that
// comes, asks for a pause, and goes. There are kMostAtRest of them at most: of more, those are
// forgotten whose time comes first.
//
// Owner thread only. HostIds are dense; one that was forgotten is given to a later host.
class HostGate {
 public:
  static constexpr size_t kMostAtRest = 16'384;

  // `forgiven_in`: HostBackoff::quiet. `rules`: null is none. `max_crawl_delay`: that a host has of
  // what its robots.txt asks for, at most. `quota` counts the hosts that are known, but for those
  // at rest; null is none. `domains`: null has all hosts of no domain.
  explicit HostGate(const PolitenessDefaults& defaults,
                    Duration forgiven_in = Duration::Seconds(600),
                    std::shared_ptr<const HostRules> rules = nullptr,
                    Duration max_crawl_delay = Duration::Seconds(300),
                    std::shared_ptr<Quota> quota = nullptr, DomainNumber domains = nullptr)
      : throttles_forgiven_in_(forgiven_in),
        rules_(rules == nullptr ? std::make_shared<const HostRules>() : std::move(rules)),
        max_crawl_delay_(max_crawl_delay),
        quota_(std::move(quota)),
        domains_(std::move(domains)) {
    SetDefaults(defaults);
  }

  void SetDefaults(const PolitenessDefaults& defaults);
  [[nodiscard]] const PolitenessDefaults& defaults() const { return defaults_; }

  // What the host has instead of the defaults, for as long as it is known; nullopt: those.
  void SetDefaultsOf(HostId host, const std::optional<PolitenessDefaults>& defaults);

  // What is in force for the host. For each term the first that says something: what is set for the
  // host, the rule that matches it, SetDefaultsOf, the defaults. Then a longer delay that its
  // robots.txt asks for.
  [[nodiscard]] HostTerms TermsOf(HostId host) const { return TermsOf(hosts_.at(host.value())); }
  // The rule that matches it; null: none.
  [[nodiscard]] const HostRule* RuleOf(HostId host) const { return hosts_.at(host.value()).rule; }

  // The group that the host is in from now on, for as long as it is known; null: none. What the
  // group bears is not part of FreeAt. When the host becomes known, and whenever the address
  // changes that is reported for it, it is put into that of its rule, else of its address.
  void SetGroup(HostId host, std::shared_ptr<const HostGroup> group);
  // Null: none.
  [[nodiscard]] const std::shared_ptr<const HostGroup>& GroupOf(HostId host) const {
    return groups_.group(GroupIdOf(host));
  }
  // 0: none.
  [[nodiscard]] GroupId GroupIdOf(HostId host) const { return hosts_.at(host.value()).group; }
  [[nodiscard]] const HostGroups& groups() const { return groups_; }
  [[nodiscard]] HostGroups& groups() { return groups_; }

  // 0: none.
  [[nodiscard]] GroupId DomainOf(HostId host) const { return hosts_.at(host.value()).domain; }

  // The id of the host; a new one for an unknown name.
  HostId Intern(const std::string& host);
  [[nodiscard]] std::optional<HostId> Find(std::string_view host) const;
  [[nodiscard]] const HostRecord& record(HostId host) const;
  [[nodiscard]] uint32_t in_flight(HostId host) const;
  // Of these, picks whose lease is not open yet.
  [[nodiscard]] uint32_t picks(HostId host) const { return hosts_.at(host.value()).picks; }
  [[nodiscard]] uint32_t pages(HostId host) const { return hosts_.at(host.value()).pages; }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  [[nodiscard]] bool IsAtRest(HostId host) const { return hosts_.at(host.value()).at_rest; }
  // Ids are below this; some may belong to no host now.
  [[nodiscard]] uint32_t id_limit() const { return static_cast<uint32_t>(hosts_.size()); }

  // Replaces what is known of the host of that name.
  HostId Put(const HostRecord& record);

  // No pick is for an earlier instant from now on.
  void Hear(Instant at) { heard_ = std::max(heard_, at); }

  // A page of the host is picked for the tick `at`. Then either its lease opens, and ends later, or
  // it is put back: the host is then as if it had not been picked, once no other pick is out.
  void Pick(HostId host, Instant at);
  void OpenLease(HostId host, Instant assigned);
  void EndLease(HostId host);
  // A page of the host was assigned at `at`, whatever has become of that.
  void NoteAssignment(HostId host, Instant at);
  // What was assigned at `at` has come to nothing. Its delay counts from the assignment before, or
  // from `left` where that is later; and from `at` where more than one comes to nothing. The delay
  // of a group goes on.
  void TakeBackAssignment(HostId host, Instant at, Instant left);
  void PutBack(HostId host);

  // The instant from which the host is free, as of what was heard; infinite while its limit is
  // reached. A host with hours of the day is not free any more when those are over: whoever picks
  // looks again.
  [[nodiscard]] Instant FreeAt(HostId host) const { return FreeAt(host, heard_); }
  // The same as of an instant.
  [[nodiscard]] Instant FreeAt(HostId host, Instant now) const;
  // The same but for what is out.
  [[nodiscard]] Instant AllowedAt(HostId host, Instant now) const;
  [[nodiscard]] HostStanding StandingOf(HostId host, Instant now) const;
  // Between two assignments of the host whose picks were out together, if they come to be later
  // than what they were picked for: by then its delay holds, and a cap over so short a time.
  [[nodiscard]] Duration Spacing(HostId host) const;
  // How long the store must know of an assignment of the host, at least, for all delays to hold.
  [[nodiscard]] Duration LongestDelay(HostId host) const;
  // The least time between two crawls of a page of the host.
  [[nodiscard]] Duration PageInterval(HostId host) const;
  // Whether that is set for the host, or by its rule: nothing of its crawl ids counts then.
  [[nodiscard]] bool HasPageInterval(HostId host) const;

  // A page of the host came or went.
  void AddPage(HostId host);
  void RemovePage(HostId host);
  // Has the host looked at once its delay and block are over and what it answered is forgiven, if
  // it has no page.
  void Rest(HostId host);
  // Appends hosts to forget, at most `max`: each has no page, nothing set for it, and nothing of
  // that running, or is one at rest of too many. Each is told once, and again after Rest.
  void TakeRested(Instant now, size_t max, std::vector<HostId>* hosts);
  [[nodiscard]] Instant next_rested() const {
    if (resting_.empty()) return Instant::Infinite();
    return TooManyAtRest() ? Instant() : resting_.top().until;
  }
  // Entries of hosts that are to be looked at; some do not count any more.
  [[nodiscard]] size_t resting() const { return resting_.size(); }
  [[nodiscard]] bool CanForget(HostId host, Instant now) const;
  // Precondition: CanForget, at some instant.
  void Forget(HostId host);

 private:
  struct Host {
    HostRecord record;
    uint32_t in_flight = 0;   // picks and leases
    uint32_t picks = 0;       // whose lease is not open yet
    Instant last_pick;        // of these
    Instant assigned_before;  // the assignment before the last; that one where it is not known
    uint32_t pages = 0;
    Instant resting_until = Instant::Infinite();  // of its entry in resting_ that counts
    bool at_rest = false;
    bool leaves = false;                           // at rest, and one of too many
    std::unique_ptr<PolitenessDefaults> defaults;  // null: those of all
    const HostRule* rule = nullptr;
    GroupId group;
    GroupId domain;
  };
  struct Resting {
    Instant until;
    HostId host;
    bool operator>(const Resting& other) const { return until > other.until; }
  };
  [[nodiscard]] const PolitenessDefaults& DefaultsOf(const Host& host) const {
    return host.defaults == nullptr ? defaults_ : *host.defaults;
  }
  [[nodiscard]] HostTerms TermsOf(const Host& host) const;
  static void NoteAssignment(Host& host, Instant at);
  // Puts the host into the group of its rule or address.
  void Regroup(HostId host);
  // What the host is to its group.
  [[nodiscard]] static HostGroups::Load LoadOf(const Host& host) {
    return {.in_flight = host.in_flight,
            .picks = host.picks,
            .last_pick = host.last_pick,
            .last_assignment = host.record.last_assignment};
  }
  // When neither delay, cap nor block is running any more, whatever the hours.
  [[nodiscard]] static Instant RestedAt(const Host& host, const HostTerms& terms);
  // And nothing that the host has answered counts any more.
  [[nodiscard]] Instant ForgottenAt(const Host& host) const;
  void SetAtRest(Host& host, bool at_rest);
  // Drops entries of resting_ that do not count.
  void DropVoid();
  // Those that leave are as good as gone.
  [[nodiscard]] bool TooManyAtRest() const { return at_rest_ - leaving_ > kMostAtRest; }
  void TakeTooMany(size_t max, std::vector<HostId>* hosts);

  PolitenessDefaults defaults_;
  Duration throttles_forgiven_in_;
  std::shared_ptr<const HostRules> rules_;  // of which `hosts_` have pointers
  Duration max_crawl_delay_;
  std::shared_ptr<Quota> quota_;
  DomainNumber domains_;
  SharedGroups shared_groups_;
  Instant heard_;
  std::vector<Host> hosts_;  // by HostId
  HostGroups groups_;
  absl::flat_hash_map<std::string, HostId> ids_;
  std::vector<HostId> free_ids_;
  size_t at_rest_ = 0;  // hosts
  size_t leaving_ = 0;  // of these
  std::priority_queue<Resting, std::vector<Resting>, std::greater<>> resting_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GATE_H_
