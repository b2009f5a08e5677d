// Tracks which hosts are in use and which are to be forgotten.
#ifndef FRESHET_CORE_SCHEDULE_HOST_USE_H_
#define FRESHET_CORE_SCHEDULE_HOST_USE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/quota.h"

namespace freshet {

// Counts the pages of each host in a gate. A host without pages and with nothing to keep is
// forgotten: the owner takes the hosts that are due (TakeRested), removes them from the store, and
// then calls Forget.
//
// A host at rest has no pages and no settings. It is known only for delays and pauses that have not
// ended. Clients can create any number of these hosts: a client adds a page, the page's host asks
// for a pause, and the client removes the page. So at most kMostAtRest hosts are at rest. If there
// are more, the hosts that would be due first are forgotten.
//
// A host counts against the quota from its first page or the first call of Rest, except while it is
// at rest. Owner thread only.
class HostUse {
 public:
  static constexpr size_t kMostAtRest = 16'384;

  // The gate must outlive this object. `forgiven_in`: HostBackoff::quiet. `quota` limits the number
  // of hosts that count; nullptr = no limit.
  explicit HostUse(HostGate& gate, Duration forgiven_in = Duration::Seconds(600),
                   std::shared_ptr<Quota> quota = nullptr)
      : gate_(gate), forgiven_in_(forgiven_in), quota_(std::move(quota)) {}

  // The number of pages of the host.
  [[nodiscard]] uint32_t pages(HostId host) const { return StateOf(host).pages; }
  // Returns true if the host counts against the quota.
  [[nodiscard]] bool Counts(HostId host) const { return StateOf(host).use == Use::kCounts; }

  // AddPage counts a page that was added to the host, and RemovePage one that was removed. When the
  // host begins to count against the quota, it uses a place of `places`, if one was taken for it.
  // Otherwise it is added to the quota, even beyond the maximum.
  void AddPage(HostId host, TakenPlaces* places = nullptr);
  void RemovePage(HostId host);
  // Schedules a check of a host without pages. The check is due when the delay and the block of the
  // host have ended and its throttled answers no longer count.
  void Rest(HostId host);
  // Checks at most `max` hosts, and appends the hosts to forget. A host to forget has no pages and
  // no settings. Also, its delays and pauses have ended, or more than kMostAtRest hosts are at
  // rest. A host is appended only once after each call of Rest for it.
  void TakeRested(Instant now, size_t max, std::vector<HostId>* hosts);
  // The time at which TakeRested next has something to do; infinite = never.
  [[nodiscard]] Instant next_rested() const {
    if (resting_.empty()) return Instant::Infinite();
    return at_rest_ > kMostAtRest ? Instant() : resting_.begin()->first;
  }
  // Returns true if Forget is allowed at `now`.
  [[nodiscard]] bool CanForget(HostId host, Instant now) const;
  // Forgets the host, in the gate too. Precondition: CanForget was true at some instant.
  void Forget(HostId host);

 private:
  enum class Use : uint8_t {
    kNone,  // the id belongs to no host, or to a new one
    kCounts,
    kAtRest,
    kLeaves,  // at rest, and to be forgotten because there are too many
  };
  struct State {
    uint32_t pages = 0;
    Use use = Use::kNone;
    Instant until = Instant::Infinite();  // instant of its entry in resting_; infinite = none
  };
  [[nodiscard]] State& Of(HostId host);
  [[nodiscard]] State StateOf(HostId host) const {
    return host.value() < states_.size() ? states_[host.value()] : State();
  }
  // Returns true if the host has no pages, nothing in flight and no settings.
  [[nodiscard]] bool IsIdle(HostId host) const;
  // When all delays and pauses of the host have ended and its throttled answers no longer count.
  [[nodiscard]] Instant ForgottenAt(HostId host) const;
  void Become(State& state, Use use, TakenPlaces* places = nullptr);
  // Moves the host's entry in resting_ to `until`; infinite = removes it.
  void Schedule(HostId host, State& state, Instant until);

  HostGate& gate_;
  const Duration forgiven_in_;
  const std::shared_ptr<Quota> quota_;
  SegmentedArray<State, 12> states_;  // by HostId
  size_t at_rest_ = 0;                // number of hosts at rest
  absl::btree_set<std::pair<Instant, HostId>> resting_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_USE_H_
