// The crawl-frontier API without its messages: one thread takes calls, makes all of a turn durable
// by one commit, and only then answers.
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

// Thread-safe but for Start and Stop. Callbacks run on its thread, one at a time, and must not
// wait.
class Frontier {
 public:
  using PutDone = std::function<void(const std::vector<FrontierOutcome>&)>;
  using PullDone = std::function<void(std::vector<FrontierServed>)>;

  // Loads the frontier from the open store. Store and clock outlive it.
  [[nodiscard]] static StatusOr<std::unique_ptr<Frontier>> Open(Store& store,
                                                                const FrontierLimits& limits,
                                                                Clock& clock);
  // Starts to serve. `on_failure` is called once, on its thread, when the store takes no more
  // changes.
  void Start(std::function<void(const Status&)> on_failure);
  ~Frontier();
  Frontier(const Frontier&) = delete;
  Frontier& operator=(const Frontier&) = delete;

  // --- Calls
  // Puts URLs. Outcomes come in the order of the URLs, once they are durable: at once, all failed,
  // when too many wait, or after Stop. Returns false when no more should be sent until they have
  // come.
  [[nodiscard]] bool Put(std::vector<FrontierPut> puts, PutDone done);
  // Gives out at most `most` URLs, sometimes none; the pull ends once FrontierPull::over is set.
  // `pull` must not be touched before `done` is called.
  void Pull(std::shared_ptr<FrontierPull> pull, size_t most, PullDone done);
  // Takes back URLs that did not reach their client, in the turn of the client.
  void GiveBack(std::vector<FrontierServed> served, uint64_t client);

  // Runs `work`, which may change the state, and calls `done` once that is durable: with the
  // result, or why it could not be kept. Unavailable: stopped. `client` and `cost`: as in Read.
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

  // --- Reading, which waits for no commit, even while the store takes nothing
  // Calls `done` with the result of `look`, which sees durable state. Both run on its thread: they
  // take as long as `cost` puts of URLs, in the turn of `client` (Claim::client; 0 = the server
  // itself). Unavailable: stopped.
  template <typename T>
  void Read(std::function<StatusOr<T>(const FrontierState&)> look,
            std::function<void(StatusOr<T>)> done, uint64_t client = 0, size_t cost = 0) {
    Reading reading = [look = std::move(look), done](const FrontierState& state) {
      done(look(state));
    };
    if (!Post(std::move(reading), client, cost)) done(Stopped());
  }
  // Reads and waits for the result. Not from a callback.
  template <typename T>
  [[nodiscard]] StatusOr<T> ReadNow(std::function<StatusOr<T>(const FrontierState&)> look) {
    std::promise<StatusOr<T>> answer;
    Read<T>(std::move(look),
            [&answer](StatusOr<T> outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get();
  }

  // --- Reading beside its thread
  // What is stored of a queue, without what is not committed.
  [[nodiscard]] const FrontierStore& store() const { return store_; }
  [[nodiscard]] FrontierStatus status() const FRESHET_EXCLUDES(mutex_);
  // The number of calls that wait.
  [[nodiscard]] size_t waiting() const { return mailbox_.size(); }
  [[nodiscard]] uint64_t NowSeconds() const;

  // Serves the waiting calls and takes nothing more. Idempotent.
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
  // Mends a part of what a clock that ran ahead has left behind, if anything.
  void Mend();
  // Does a part of the work that takes several turns.
  void Tend();
  void ServePulls(std::vector<Op>& ops, std::vector<Answer>* answers);
  void StagePuts(std::vector<Op>& ops, std::vector<Answer>* answers);
  // Commits: the staged changes are then durable, or undone.
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
  FrontierState state_;  // used by its thread
  TurnSize turn_size_{limits::kLeastUrlsPerTurn, limits::kMaxUrlsPerCommit, limits::kUrlTurnTime};
  Status failure_;  // used by its thread; OK = the store takes changes
  // While the store takes nothing, ended leases stay, and are looked at once a second. Used by its
  // thread.
  uint64_t expire_from_ = 0;
  Instant mend_from_;   // used by its thread
  bool tends_ = false;  // used by its thread: more to tend
  mutable Mutex mutex_;
  FrontierStatus status_ FRESHET_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_H_
