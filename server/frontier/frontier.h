// The crawl-frontier API without its messages: one thread that takes what calls want, makes all of
// a turn durable by one commit, and only then answers.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "server/base/mailbox.h"
#include "server/base/system_clock.h"
#include "server/frontier/frontier_state.h"
#include "storage/frontier_store.h"
#include "sync/mutex.h"

namespace freshet {

// What there is to tell of it. Value type, thread-compatible.
struct FrontierStatus {
  FrontierTotals totals;
  FrontierCounts counts;
  uint64_t crawls = 0;
  uint64_t waiting_urls = 0;  // for their turn
  bool active = true;
  FrontierStoreStats store;
  Status health;
};

// Thread-safe but for Start, Stop and Close. Callbacks run on its thread, one at a time, and must
// not wait.
class Frontier {
 public:
  using PutDone = std::function<void(const std::vector<FrontierOutcome>&)>;
  using PullDone = std::function<void(std::vector<FrontierServed>)>;

  // Opens the store in `dir` and takes in what is there. `clock` outlives it.
  [[nodiscard]] static StatusOr<std::unique_ptr<Frontier>> Open(const std::string& dir,
                                                                const StoreOptions& options,
                                                                const FrontierLimits& limits,
                                                                Clock& clock);
  // The same of a cluster's, in the open store of the pages (FrontierStore::OpenWithin), which
  // outlives it.
  [[nodiscard]] static StatusOr<std::unique_ptr<Frontier>> OpenWithin(Store& cache,
                                                                      const FrontierLimits& limits,
                                                                      Clock& clock);
  // Does what was asked for from here on. `on_failure` is told once, on its thread, when the store
  // takes nothing any more.
  void Start(std::function<void(const Status&)> on_failure);
  ~Frontier();
  Frontier(const Frontier&) = delete;
  Frontier& operator=(const Frontier&) = delete;

  // --- Calls
  // Outcomes come in the order of the URLs, once they are durable: at once, all failed, when more
  // waits than may, or after Stop. Returns false when no more should be sent until they have come.
  [[nodiscard]] bool Put(std::vector<FrontierPut> puts, PutDone done);
  // Gives out at most `most` URLs, and none at times; there are no more once FrontierPull::over is
  // set. `pull` is not to be touched before `done` is called.
  void Pull(std::shared_ptr<FrontierPull> pull, size_t most, PullDone done);
  // What was given out and has not reached its client.
  void GiveBack(std::vector<FrontierServed> served);

  // Runs `work`, which may change the state, and calls `done` once that is durable: with what work
  // has returned, or why it could not be kept. Unavailable: stopped.
  template <typename T>
  void Run(std::function<StatusOr<T>(FrontierState&)> work, std::function<void(StatusOr<T>)> done) {
    Change change = [work = std::move(work), done](FrontierState& state) -> Answer {
      auto result = std::make_shared<StatusOr<T>>(work(state));
      return [result, done](const Status& committed) {
        done(committed.ok() ? std::move(*result) : StatusOr<T>(committed));
      };
    };
    if (!Post(std::move(change))) done(Stopped());
  }

  // --- Reading, which waits for no commit: also while the store takes nothing
  // Calls `done` with what `look` returns, which sees what is durable. Unavailable: stopped.
  template <typename T>
  void Read(std::function<StatusOr<T>(const FrontierState&)> look,
            std::function<void(StatusOr<T>)> done) {
    Reading reading = [look = std::move(look), done](const FrontierState& state) {
      done(look(state));
    };
    if (!Post(std::move(reading))) done(Stopped());
  }
  // The same, waiting for it. Not from a callback.
  template <typename T>
  [[nodiscard]] StatusOr<T> ReadNow(std::function<StatusOr<T>(const FrontierState&)> look) {
    std::promise<StatusOr<T>> answer;
    Read<T>(std::move(look),
            [&answer](StatusOr<T> outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get();
  }

  // --- Reading beside its thread
  // What is stored of a queue, without what is not committed.
  [[nodiscard]] const FrontierStore& store() const { return *store_; }
  [[nodiscard]] FrontierStatus status() const FRESHET_EXCLUDES(mutex_);
  // What was asked for and is not looked at yet.
  [[nodiscard]] size_t waiting() const { return mailbox_.size(); }
  [[nodiscard]] uint64_t NowSeconds() const;
  [[nodiscard]] Status Checkpoint(const std::string& dir) const { return store_->Checkpoint(dir); }

  // Does what was asked for and takes nothing more. Idempotent.
  void Stop();
  Status Close();

 private:
  using Answer = std::function<void(const Status& committed)>;
  using Change = std::function<Answer(FrontierState&)>;
  struct PutOp {
    std::vector<FrontierPut> puts;
    PutDone done;
  };
  struct PullOp {
    std::shared_ptr<FrontierPull> pull;
    size_t most = 0;
    PullDone done;
  };
  using Reading = std::function<void(const FrontierState&)>;
  using Op = std::variant<PutOp, PullOp, Change, Reading>;

  Frontier(std::unique_ptr<FrontierStore> store, const FrontierLimits& limits, Clock& clock);

  [[nodiscard]] static StatusOr<std::unique_ptr<Frontier>> Load(
      std::unique_ptr<FrontierStore> store, const FrontierLimits& limits, Clock& clock);
  [[nodiscard]] static Status Stopped();
  [[nodiscard]] bool Post(Op op);
  void Loop();
  void Turn(std::vector<Op> ops);
  // Some of what a clock that ran ahead has left behind, if there is any.
  void Mend();
  void ServePulls(std::vector<Op>& ops, std::vector<Answer>* answers);
  void StagePuts(std::vector<Op>& ops, std::vector<Answer>* answers);
  // What was staged is durable, or as if it had not been.
  [[nodiscard]] Status Settle();
  void Publish() FRESHET_EXCLUDES(mutex_);
  // When a lease is to be ended next, in seconds since 1970.
  [[nodiscard]] uint64_t NextExpiry() const {
    return std::max(state_.table().next_expiry(), expire_from_);
  }

  const std::unique_ptr<FrontierStore> store_;
  Clock& clock_;
  std::function<void(const Status&)> on_failure_;
  Mailbox<Op> mailbox_;
  FrontierState state_;  // of its thread
  Status failure_;       // likewise: nothing is taken any more
  // Likewise: while the store takes nothing, leases that are over stay, and are looked at once a
  // second.
  uint64_t expire_from_ = 0;
  Instant mend_from_;  // likewise
  mutable Mutex mutex_;
  FrontierStatus status_ FRESHET_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_H_
