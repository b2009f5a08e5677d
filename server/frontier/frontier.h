// The crawl-frontier API without its messages. One thread takes calls in turns. It makes all
// changes of a turn durable by one commit, and answers the calls only then.
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
#include "server/base/turn_size.h"
#include "server/frontier/frontier_state.h"
#include "server/frontier/frontier_status.h"
#include "storage/frontier_store.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe, except Start and Stop. Callbacks run on the frontier's thread, one at a time, and
// must not block.
class Frontier {
 public:
  using PutDone = std::function<void(const std::vector<FrontierOutcome>&)>;
  using PullDone = std::function<void(std::vector<FrontierServed>)>;

  // Loads the frontier from the open store. `store` and `clock` must outlive it.
  [[nodiscard]] static StatusOr<std::unique_ptr<Frontier>> Open(Store& store,
                                                                const FrontierLimits& limits,
                                                                Clock& clock);
  // Starts to serve. `on_failure` is called at most once, on the frontier's thread, when the store
  // can no longer be written.
  void Start(std::function<void(const Status&)> on_failure);
  ~Frontier();
  Frontier(const Frontier&) = delete;
  Frontier& operator=(const Frontier&) = delete;

  // --- Calls
  // Puts URLs. Calls `done` with one outcome for each, in the order of the URLs, once all are
  // durable. If too many URLs wait, or after Stop, calls `done` at once and all outcomes are
  // kFailed. Returns false if the caller should send no more URLs until `done` is called.
  [[nodiscard]] bool Put(std::vector<FrontierPut> puts, PutDone done);
  // Hands out at most `most` URLs. The result can be empty although more URLs follow: the pull ends
  // only when FrontierPull::over is set. `pull` must not be accessed before `done` is called.
  void Pull(std::shared_ptr<FrontierPull> pull, size_t most, PullDone done);
  // Takes back URLs that did not reach their client. The work is charged to `client`.
  void GiveBack(std::vector<FrontierServed> served, uint64_t client);

  // Runs `work`, which may change the state, on the frontier's thread. Once the changes are
  // durable, calls `done` with the result of `work`. Not OK: the changes could not be committed.
  // Unavailable: the frontier is stopped. `client` and `cost`: as in Read.
  template <typename T>
  void Run(std::function<StatusOr<T>(FrontierState&)> work, std::function<void(StatusOr<T>)> done,
           uint64_t client = 0, size_t cost = 0) {
    Change change = [work = std::move(work), done](FrontierState& state) -> Answer {
      auto result = std::make_shared<StatusOr<T>>(work(state));
      return [result, done](const Status& committed) {
        done(committed.ok() ? std::move(*result) : StatusOr<T>(committed));
      };
    };
    if (!Post(std::move(change), client, cost)) done(Stopped());
  }

  // --- Reads, which never wait for a commit
  // Calls `look`, which sees only durable state, and then `done` with its result. Both run on the
  // frontier's thread. `cost`: how long they take, compared with putting one URL. The work is
  // charged to `client` (Claim::client; 0 = the server itself). Unavailable: the frontier is
  // stopped.
  template <typename T>
  void Read(std::function<StatusOr<T>(const FrontierState&)> look,
            std::function<void(StatusOr<T>)> done, uint64_t client = 0, size_t cost = 0) {
    Reading reading = [look = std::move(look), done](const FrontierState& state) {
      done(look(state));
    };
    if (!Post(std::move(reading), client, cost)) done(Stopped());
  }
  // Reads and waits for the result. Must not be called from a callback.
  template <typename T>
  [[nodiscard]] StatusOr<T> ReadNow(std::function<StatusOr<T>(const FrontierState&)> look) {
    std::promise<StatusOr<T>> answer;
    Read<T>(std::move(look),
            [&answer](StatusOr<T> outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get();
  }

  // --- Reads on other threads
  // The store, for reads of committed URLs.
  [[nodiscard]] const FrontierStore& store() const { return store_; }
  [[nodiscard]] FrontierStatus status() const FRESHET_EXCLUDES(mutex_);
  // The number of waiting calls.
  [[nodiscard]] size_t waiting() const { return mailbox_.size(); }
  [[nodiscard]] uint64_t NowSeconds() const;

  // Serves the waiting calls and refuses new ones. Idempotent.
  void Stop();

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

  Frontier(Store& store, const FrontierLimits& limits, Clock& clock);

  [[nodiscard]] static Status Stopped();
  [[nodiscard]] bool PutPart(std::vector<FrontierPut> puts, size_t cost, PutDone done);
  [[nodiscard]] bool Post(Op op, uint64_t client = 0, size_t cost = 0);
  void Loop();
  void Turn(std::vector<Op> ops);
  // Corrects some of the times that a clock that ran ahead has left behind, if there are any.
  void Mend();
  // Once a second, removes some of the queues that have neither URLs nor settings any more.
  void Sweep();
  // Returns true if there are queues without URLs.
  [[nodiscard]] bool HasEmptyQueues() const;
  // Does a part of the background work that takes several turns.
  void Tend();
  void ServePulls(std::vector<Op>& ops, std::vector<Answer>* answers);
  void StagePuts(std::vector<Op>& ops, std::vector<Answer>* answers);
  // Commits. Afterwards all staged changes are durable, or all are undone.
  [[nodiscard]] Status Settle();
  void Publish() FRESHET_EXCLUDES(mutex_);
  // The end of the next lease, in seconds since 1970.
  [[nodiscard]] uint64_t NextExpiry() const {
    return std::max(state_.table().ends().first(), expire_from_);
  }

  FrontierStore store_;
  Clock& clock_;
  std::function<void(const Status&)> on_failure_;
  Mailbox<Op> mailbox_;
  FrontierState state_;  // frontier's thread only
  TurnSize turn_size_{limits::kLeastUrlsPerTurn, limits::kMaxUrlsPerCommit, limits::kUrlTurnTime};
  Status failure_;  // frontier's thread only; OK = the store can be written
  // While commits fail, ended leases stay, and their expiry is tried again once a second.
  // Frontier's thread only.
  uint64_t expire_from_ = 0;
  Instant mend_from_;   // frontier's thread only
  Instant sweep_from_;  // frontier's thread only
  bool tends_ = false;  // frontier's thread only: background work is left
  mutable Mutex mutex_;
  FrontierStatus status_ FRESHET_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_H_
