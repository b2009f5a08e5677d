// Measures lateness: how long pages wait for the crawl that a signal asked for. If at most
// kMaxSample pages wait at the same time, all of them are counted. If more wait, a sample by
// fingerprint is counted, and each page in the sample stands for several pages.
#ifndef FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_
#define FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/lateness.h"

namespace freshet {

// Waits are lost at a restart: a wait begins only with a signal that this process has applied. Each
// call costs a lookup. Takes at most 1 MB. Owner thread only.
class SignalWaits {
 public:
  static constexpr size_t kMaxSample = 16'384;

  // Starts the wait of a page whose signal was applied at `now`. If the page already waits, the
  // earlier signal counts.
  void Begin(PageId id, uint64_t fingerprint, Instant now);
  // Ends the wait of a page that was fetched at `fetched`. `more`: the page still has signals, all
  // newer than the fetch. If `more` is true and the wait itself began after the fetch, the wait
  // continues.
  void End(PageId id, Instant fetched, bool more);
  // Drops the wait of a removed page.
  void Remove(PageId id) { waiting_.erase(id); }

  // The approximate number of pages that wait.
  [[nodiscard]] uint64_t waiting() const { return waiting_.size() * weight_; }
  // The longest wait in the sample; 0 = no page waits. Visits the whole sample.
  [[nodiscard]] Duration Longest(Instant now) const;
  [[nodiscard]] const WaitCounts& counts() const { return counts_; }

 private:
  struct Wait {
    uint64_t fingerprint = 0;
    Instant since;
  };
  void Halve();

  uint64_t highest_ = UINT64_MAX;  // the sample has the pages with fingerprints up to this one
  uint64_t weight_ = 1;            // number of pages that each page in the sample stands for
  absl::flat_hash_map<PageId, Wait> waiting_;
  WaitCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_WAITS_H_
