// Epochs: now and then every page is looked at, and takes its rates from the site models of the
// epoch before where they have changed notably; then the models are learned anew together with the
// other shards. Pages of hosts whose models that has moved are looked at once more, and take their
// rates from the new ones. What looks at pages is done in slices between the turns of a shard, so
// that traffic never waits for more than one slice; what learns from them, on a thread of its own.
#ifndef FRESHET_SERVER_ENGINE_EPOCHS_H_
#define FRESHET_SERVER_ENGINE_EPOCHS_H_

#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/learned_sites.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/event.h"

namespace freshet {

class EpochExchange;
struct PageRecord;
class ShardState;
class Store;
class Transaction;

struct EpochOptions {
  Slot first_slot;  // every `stride`-th slot from here on is the shard's
  uint16_t stride = 1;
  Duration interval;  // from the end of one epoch to the start of the next; zero: never by itself
  // How long a slice is to take, which is what a pick may wait for it; and the pages and slots of
  // the first.
  Duration slice = Duration::Micros(400);
  size_t slice_pages = 64;
  // Of all shards of the store; this one's place in it is that of its first slot. Null: the store
  // has no other.
  std::shared_ptr<EpochExchange> exchange;
  // A shard that does not publish what it collected, because its store hangs or because it has far
  // more pages, has the others wait for so long and no longer.
  Duration patience = Duration::Seconds(300);
};

struct EpochResult {
  uint64_t number = 0;  // of the last one, over all starts; zero: there was none
  uint64_t epochs = 0;  // ended since the start
  // Of the last one:
  uint64_t pages = 0;    // estimated
  uint64_t again = 0;    // of them, once more by the new models
  uint64_t changed = 0;  // written, those looked at twice perhaps twice
  Instant ended;         // none: no epoch has
  Duration took;
};

// Owner thread only: the shard's.
class EpochRunner {
 public:
  using Done = std::function<void(const StatusOr<EpochResult>&)>;

  EpochRunner(const EpochOptions& options, Store& store, Instant now);
  ~EpochRunner();
  EpochRunner(const EpochRunner&) = delete;
  EpochRunner& operator=(const EpochRunner&) = delete;

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

  // Does one slice: looks at some pages, and loads those into `txn` that are then to be committed
  // and installed: in an epoch those whose rates have changed notably, to be written, after a
  // change of policy all, as they are. An error of the store ends the epoch. `state` is the same
  // always, and outlives the runner.
  void Slice(ShardState& state, Instant now, Transaction& txn);
  // How long that slice took, the commit and installation of its pages included.
  void Took(Duration took);
  // What has a page that a slice has loaded done as it would have been, should its commit fail.
  [[nodiscard]] Event Again(PageNumber page) const;
  // Ends what runs, unfinished, and starts nothing more, for `reason`. Those who wait, or ask
  // later, are told by the next Notify.
  void Cancel(Instant now, const Status& reason);
  // An epoch of all shards is about to be asked for: the others are to wait for this one. Any
  // thread.
  void Expect();
  // Tells the requests that ended with the slice. Call once the slice's events are committed.
  void Notify();

  [[nodiscard]] const EpochResult& last() const { return last_; }

 private:
  enum class Phase { kIdle, kCollect, kShare, kLearn, kFile };

  void Begin(ShardState& state, Instant now);
  // The next pages of the shard, none where slots are empty. Counts both in read_.
  [[nodiscard]] StatusOr<std::vector<PageRecord>> NextPages();
  // The slots whose pages are to be read.
  [[nodiscard]] bool Reads(uint32_t slot) const { return file_all_ || moved_[slot]; }
  // Loads those of them that are to be filed anew.
  void LookAt(ShardState& state, Instant now, std::vector<PageRecord> pages, Transaction& txn);
  void Rewind();
  void NextSlot();
  // Everything was collected: the others may learn from it.
  void Share(ShardState& state, Instant now);
  // Learns, once all that is to be shared has been, and has the store keep it.
  void Learn(const ShardState& state, Instant now);
  void TakeLearned(ShardState& state, Instant now);
  // Whether what the other thread does is done. To be asked again a little later.
  [[nodiscard]] bool WaitsFor(const std::atomic<bool>& done, Instant now);
  // Has it break off what it does.
  void Break();
  [[nodiscard]] size_t index() const { return options_.first_slot.value(); }
  void End(Instant now, const Status& status);

  const EpochOptions options_;
  Store& store_;
  Phase phase_ = Phase::kIdle;
  Status cancelled_;       // why; OK: it is not
  bool learning_ = false;  // a whole epoch, not pages filed anew alone
  CrawlPolicy filed_by_;   // what was set when it began
  // Every page is to be filed, not only those whose rates have changed: it was asked for, or such a
  // run has failed.
  bool file_all_ = false;
  Instant started_;
  Instant next_start_;
  size_t slice_pages_;
  size_t read_ = 0;                    // pages and slots, by the last slice
  std::bitset<limits::kSlots> moved_;  // what the epoch that runs has to read once more
  // Of the other thread: it reads the state of the shard and publishes, or learns and commits.
  std::atomic<bool> break_ = false;
  std::atomic<bool> shared_ = false;
  std::atomic<bool> learned_ = false;
  std::future<void> sharing_;
  std::future<StatusOr<LearnedSites>> learning_from_;
  Instant next_look_;    // whether all have shared, or the shard has learned
  Instant share_end_;    // no longer waited for
  uint64_t number_ = 0;  // of the epoch that runs, once it has learned
  uint64_t pages_ = 0;
  uint64_t again_ = 0;
  uint64_t changed_ = 0;
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
