// Epochs: now and then every page is looked at, the site model is learned anew, and every page
// takes its rates from it. All of it in slices that run between the turns of a shard, so that
// traffic never waits for more than one slice.
#ifndef FRESHET_SERVER_ENGINE_EPOCHS_H_
#define FRESHET_SERVER_ENGINE_EPOCHS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/event.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "storage/store.h"

namespace freshet {

struct EpochOptions {
  Slot first_slot;  // every `stride`-th slot from here on is the shard's
  uint16_t stride = 1;
  Duration interval;  // from the end of one epoch to the start of the next; zero: never by itself
  size_t slice_pages = 256;
};

struct EpochResult {
  uint64_t number = 0;  // of the last one, over all starts; zero: there was none
  uint64_t epochs = 0;  // ended since the start
  uint64_t pages = 0;   // re-estimated by the last one
  Instant ended;        // none: no epoch has
  Duration took;
};

// Owner thread only: the shard's.
class EpochRunner {
 public:
  using Done = std::function<void(const StatusOr<EpochResult>&)>;

  EpochRunner(const EpochOptions& options, const Store& store, Instant now);

  // Goes on counting from the last epoch before the start.
  void Resume(uint64_t number) { last_.number = number; }
  // Runs an epoch that starts after this call; `done` is called when it has ended.
  void Request(Done done);
  // Files every page anew as it is known, after a change of policy or for a plan; `done` likewise.
  void RequestFiling(Done done);

  // Whether there is a slice to do at `now`.
  [[nodiscard]] bool Due(Instant now) const;
  [[nodiscard]] bool running() const { return phase_ != Phase::kIdle; }
  // When Due() becomes true by itself.
  [[nodiscard]] Instant next_start() const;

  // Does one slice: collects some pages, or loads some into `txn`, which is then to be committed
  // and installed: in an epoch with Reestimate events to be stepped, after a change of policy as
  // they are. An error of the store ends the epoch.
  void Slice(ShardState& state, Instant now, Transaction& txn, std::vector<Event>* events);
  // Ends what runs, unfinished, and starts nothing more: the server stops. Those who wait, or ask
  // later, are told by the next Notify.
  void Cancel(Instant now);
  // Tells the requests that ended with the slice. Call once the slice's events are committed.
  void Notify();

  [[nodiscard]] const EpochResult& last() const { return last_; }

 private:
  enum class Phase { kIdle, kCollect, kFile };

  void Begin(ShardState& state, Instant now);
  // The next pages of the shard; an empty list means that there are no more.
  [[nodiscard]] StatusOr<std::vector<PageRecord>> NextPages();
  void Rewind();
  void End(Instant now, const Status& status);

  const EpochOptions options_;
  const Store& store_;
  Phase phase_ = Phase::kIdle;
  bool cancelled_ = false;
  bool learning_ = false;  // a whole epoch, not pages filed anew alone
  CrawlPolicy filed_by_;   // what was set when it began
  Instant started_;
  Instant next_start_;
  uint64_t number_ = 0;  // of the epoch that runs, once it has learned
  uint64_t pages_ = 0;
  uint32_t slot_ = 0;  // being read; >= kSlots: all were
  PageNumber cursor_;
  EpochResult last_;
  std::vector<Done> epoch_waiters_;   // for an epoch that has not begun
  std::vector<Done> filing_waiters_;  // likewise
  std::vector<Done> running_waiters_;
  std::vector<std::function<void()>> notices_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCHS_H_
