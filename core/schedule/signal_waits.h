// Measures lateness: the waits of pages for the crawl that a signal asked for. Up to kMaxSample
// pages at a time it knows all; beyond, a sample drawn by fingerprint, with weights, so that the
// counts still cover all.
#ifndef FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_
#define FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/lateness.h"

namespace freshet {

// A restart forgets waits: a wait begins with a signal that this process has taken. A lookup a
// call, in at most 1 MB. Owner thread only.
class SignalWaits {
 public:
  static constexpr size_t kMaxSample = 16'384;

  // Begins the wait of a page whose signal was applied at `now`. The first waiting signal counts.
  void Begin(PageId id, uint64_t fingerprint, Instant now);
  // Ends the wait of a page that was fetched at `fetched`. `more`: newer signals wait; if only such
  // signals wait, the wait continues.
  void End(PageId id, Instant fetched, bool more);
  // Drops the wait of a removed page.
  void Remove(PageId id) { waiting_.erase(id); }

  // About how many pages wait.
  [[nodiscard]] uint64_t waiting() const { return waiting_.size() * weight_; }
  // The longest wait in the sample; 0 = none waits. Looks at the whole sample.
  [[nodiscard]] Duration Longest(Instant now) const;
  [[nodiscard]] const WaitCounts& counts() const { return counts_; }

 private:
  struct Wait {
    uint64_t fingerprint = 0;
    Instant since;
  };
  void Halve();

  uint64_t highest_ = UINT64_MAX;  // fingerprints up to here are in the sample
  uint64_t weight_ = 1;            // pages that one of the sample stands for
  absl::flat_hash_map<PageId, Wait> waiting_;
  WaitCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_
