// Which pages wait for the crawl that a signal asked for, and since when: lateness, measured. Up to
// kMaxSample pages at a time it is all of them; beyond that a sample drawn by fingerprint, each of
// which stands for as many as the sample leaves out, so that the counts go on being of all.
#ifndef FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_
#define FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/lateness.h"

namespace freshet {

// What waited at a restart is not known any more: a wait begins with a signal that this process has
// taken. Owner thread only. A lookup a call, in at most 1 MB.
class SignalWaits {
 public:
  static constexpr size_t kMaxSample = 16'384;

  // A signal of the page was applied at `now`. The first that waits counts.
  void Begin(PageId id, uint64_t fingerprint, Instant now);
  // The page was fetched at `fetched`. `more`: signals wait that are newer than that, and if those
  // are all that wait, the wait goes on.
  void End(PageId id, Instant fetched, bool more);
  // The page is no more, and will not be crawled for anything.
  void Remove(PageId id) { waiting_.erase(id); }

  // About how many pages wait.
  [[nodiscard]] uint64_t waiting() const { return waiting_.size() * weight_; }
  // How long the one has waited that waits longest, among the sample; zero: none waits. Looks at
  // all of them.
  [[nodiscard]] Duration Longest(Instant now) const;
  [[nodiscard]] const WaitCounts& counts() const { return counts_; }

 private:
  struct Wait {
    uint64_t fingerprint = 0;
    Instant since;
  };
  void Halve();

  uint64_t highest_ = UINT64_MAX;  // fingerprints up to here are in the sample
  uint64_t weight_ = 1;            // how many pages one of the sample stands for
  absl::flat_hash_map<PageId, Wait> waiting_;
  WaitCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_
