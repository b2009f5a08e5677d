// Epochs of a shard. An epoch looks at every page, which takes new rates from the site models of
// the epoch before if they have changed notably. Then the shard learns the models again together
// with the other shards. Pages of hosts whose models have moved are looked at again, and take the
// new rates. Pages are looked at in slices between the turns of a shard, so that traffic waits for
// one slice at most. Learning runs on a thread of its own.
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
#include "server/engine/epoch_result.h"

namespace freshet {

class EpochExchange;
struct PageRecord;
class ShardState;
class Store;
class Transaction;

struct EpochOptions {
  Slot first_slot;  // the shard has every `stride`-th slot from here on
  uint16_t stride = 1;
  Duration interval;  // from the end of one epoch to the start of the next; 0 = only on request
  // How long a slice should take, as a pick may wait for it; and the pages and slots of the first
  // slice.
  Duration slice = Duration::Micros(400);
  size_t slice_pages = 64;
  // The exchange of all shards of the store; this one's place in it is its first slot. nullptr = it
  // is the only shard.
  std::shared_ptr<EpochExchange> exchange;
  // The longest wait for a shard that does not publish, because its store hangs or it has far more
  // pages.
  Duration patience = Duration::Seconds(300);
};

// Owner thread only: the shard's.
class EpochRunner {
 public:
  using Done = std::function<void(const StatusOr<EpochResult>&)>;

  EpochRunner(const EpochOptions& options, Store& store, Instant now);
  ~EpochRunner();
  EpochRunner(const EpochRunner&) = delete;
  EpochRunner& operator=(const EpochRunner&) = delete;

  // Continues the numbers of earlier starts.
  void Resume(uint64_t number) { last_.number = number; }
  // Requests an epoch that starts after this call; `done` is called when it has ended.
  void Request(Done done);
  // Requests that every page is refiled unchanged, after a change of policy or for a plan; `done`
  // is called when that has ended.
  void RequestFiling(Done done);

  // Whether a slice is due at `now`.
  [[nodiscard]] bool Due(Instant now) const;
  [[nodiscard]] bool running() const { return phase_ != Phase::kIdle; }
  // When Due() becomes true by itself.
  [[nodiscard]] Instant next_start() const;

  // Does one slice: looks at some pages, and loads those into `txn` that are to be committed and
  // installed. In an epoch these are pages whose rates have changed notably, to be written; after a
  // change of policy all, unchanged. An error of the store ends the epoch. `state` is always the
  // same, and outlives the runner.
  void Slice(ShardState& state, Instant now, Transaction& txn);
  // Takes the time of that slice, with the commit and installation of its pages.
  void Took(Duration took);
  // The event that repeats a slice's work on a page if its commit fails.
  [[nodiscard]] Event Again(PageNumber page) const;
  // Ends the run under way, unfinished, for `reason`, and starts no other. The next Notify tells
  // all that wait, or ask later.
  void Cancel(Instant now, const Status& reason);
  // Announces an epoch of all shards: the others wait for this one. Any thread.
  void Expect();
  // Answers the requests that ended with the slice. Called once the slice's events are committed.
  void Notify();

  [[nodiscard]] const EpochResult& last() const { return last_; }

 private:
  enum class Phase { kIdle, kCollect, kShare, kLearn, kFile };

  void Begin(ShardState& state, Instant now);
  // The next pages of the shard; empty for empty slots. Counts pages and slots in read_.
  [[nodiscard]] StatusOr<std::vector<PageRecord>> NextPages();
  // Whether the pages of the slot are read.
  [[nodiscard]] bool Reads(uint32_t slot) const { return file_all_ || moved_[slot]; }
  // Loads the pages to refile.
  void LookAt(ShardState& state, Instant now, std::vector<PageRecord> pages, Transaction& txn);
  void Rewind();
  void NextSlot();
  // Publishes everything collected for the other shards.
  void Share(ShardState& state, Instant now);
  // Learns once all shards have shared, and stores the result.
  void Learn(ShardState& state, Instant now);
  void TakeLearned(ShardState& state, Instant now);
  // Whether the other thread is done. If not, sets the time of the next look.
  [[nodiscard]] bool WaitsFor(const std::atomic<bool>& done, Instant now);
  // Stops the other thread's work.
  void Break();
  [[nodiscard]] size_t index() const { return options_.first_slot.value(); }
  void End(Instant now, const Status& status);

  const EpochOptions options_;
  Store& store_;
  Phase phase_ = Phase::kIdle;
  Status cancelled_;       // the reason; OK = not cancelled
  bool learning_ = false;  // a whole epoch, not only filing
  CrawlPolicy filed_by_;   // the policy in force when it began
  // Whether every page is to be filed, not only those with changed rates: it was requested, or such
  // a run has failed.
  bool file_all_ = false;
  Instant started_;
  Instant next_start_;
  size_t slice_pages_;
  size_t read_ = 0;                    // pages and slots in the last slice
  std::bitset<limits::kSlots> moved_;  // slots that the epoch under way reads again
  // Shared with the other thread, which reads the state of the shard and publishes, or learns and
  // commits.
  std::atomic<bool> break_ = false;
  std::atomic<bool> shared_ = false;
  std::atomic<bool> learned_ = false;
  std::future<void> sharing_;
  std::future<StatusOr<LearnedSites>> learning_from_;
  Instant next_look_;    // when to look whether all have shared, or the shard has learned
  Instant share_end_;    // end of the wait for others
  uint64_t number_ = 0;  // number of the present epoch, once it has learned
  uint64_t pages_ = 0;
  uint64_t again_ = 0;
  uint64_t changed_ = 0;
  uint32_t slot_ = 0;  // being read; >= kSlots = all were
  PageNumber cursor_;
  EpochResult last_;
  std::vector<Done> epoch_waiters_;   // callers that wait for an epoch that has not begun
  std::vector<Done> filing_waiters_;  // callers that wait for filing that has not begun
  std::vector<Done> running_waiters_;
  std::vector<std::function<void()>> notices_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCHS_H_
