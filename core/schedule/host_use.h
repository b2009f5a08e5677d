// Which hosts are in use, and which are to be forgotten.
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

// The pages of each host of a gate, by number. A host without pages and with nothing to keep is
// forgotten: the owner takes hosts whose time has come (TakeRested), forgets them in the store, and
// then here. A host at rest has no pages and settings, and is known only for delays and pauses that
// still run. Clients can make such hosts at will, by a page that comes, asks for a pause, and goes.
// So there are at most kMostAtRest: beyond, the hosts whose time comes first are forgotten.
//
// A host counts from its first page or Rest on, except at rest. Owner thread only.
class HostUse {
 public:
  static constexpr size_t kMostAtRest = 16'384;

  // The gate outlives this object. `forgiven_in`: HostBackoff::quiet. `quota` has the number of
  // hosts that count; nullptr = none.
  explicit HostUse(HostGate& gate, Duration forgiven_in = Duration::Seconds(600),
                   std::shared_ptr<Quota> quota = nullptr)
      : gate_(gate), forgiven_in_(forgiven_in), quota_(std::move(quota)) {}

  // The pages of the host.
  [[nodiscard]] uint32_t pages(HostId host) const { return StateOf(host).pages; }
  [[nodiscard]] bool Counts(HostId host) const { return StateOf(host).use == Use::kCounts; }

  // Count a page of the host that came or went. A host that counts from now on uses a place that
  // was taken for it, else it is added to the quota.
  void AddPage(HostId host, TakenPlaces* places = nullptr);
  void RemovePage(HostId host);
  // Schedules a look at a host without pages once its delay and block are over and its answers are
  // forgiven.
  void Rest(HostId host);
  // Looks at no more than `max` hosts, and appends those to forget: each has no page, no settings
  // and nothing running, or is one too many at rest. Each comes once, and again after Rest.
  void TakeRested(Instant now, size_t max, std::vector<HostId>* hosts);
  // When TakeRested has something to do.
  [[nodiscard]] Instant next_rested() const {
    if (resting_.empty()) return Instant::Infinite();
    return at_rest_ > kMostAtRest ? Instant() : resting_.begin()->first;
  }
  [[nodiscard]] bool CanForget(HostId host, Instant now) const;
  // Forgets the host, in the gate too. Precondition: CanForget, at some instant.
  void Forget(HostId host);

 private:
  enum class Use : uint8_t {
    kNone,  // the id belongs to no host, or to a new one
    kCounts,
    kAtRest,
    kLeaves,  // at rest, and one too many
  };
  struct State {
    uint32_t pages = 0;
    Use use = Use::kNone;
    Instant until = Instant::Infinite();  // the instant of its entry in resting_; infinite = none
  };
  [[nodiscard]] State& Of(HostId host);
  [[nodiscard]] State StateOf(HostId host) const {
    return host.value() < states_.size() ? states_[host.value()] : State();
  }
  // Whether the host has no page, nothing out and no settings.
  [[nodiscard]] bool IsIdle(HostId host) const;
  // When nothing of the host runs any more, and all throttled answers are forgiven too.
  [[nodiscard]] Instant ForgottenAt(HostId host) const;
  void Become(State& state, Use use, TakenPlaces* places = nullptr);
  // Moves the entry of the host; infinite = it gets none.
  void Schedule(HostId host, State& state, Instant until);

  HostGate& gate_;
  const Duration forgiven_in_;
  const std::shared_ptr<Quota> quota_;
  SegmentedArray<State, 12> states_;  // by HostId
  size_t at_rest_ = 0;                // hosts
  absl::btree_set<std::pair<Instant, HostId>> resting_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_USE_H_
