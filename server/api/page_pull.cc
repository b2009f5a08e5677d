#include "server/api/page_pull.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "sync/mutex.h"

namespace freshet {
namespace {

// A worker of these crawl ids that is served once. Thread-safe.
class PullingWorker final : public AssignmentSink {
 public:
  explicit PullingWorker(std::function<void(std::vector<Assignment>)> done)
      : done_(std::move(done)) {}

  void Deliver(std::vector<Assignment> assignments, Outlook outlook) override {
    std::vector<Assignment> all;
    {
      const MutexLock lock(mutex_);
      std::move(assignments.begin(), assignments.end(), std::back_inserter(assignments_));
      if (outlook == Outlook::kMore) return;
      all.swap(assignments_);
    }
    done_(std::move(all));
  }
  // It is over in a moment anyway.
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}

 private:
  const std::function<void(std::vector<Assignment>)> done_;
  Mutex mutex_;
  std::vector<Assignment> assignments_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace

void PullPages(const ServerContext& context, const PagePull& pull,
               std::function<void(std::vector<Assignment>)> done) {
  if (context.dispatcher.paused() || !context.dispatcher.stalled().ok()) return done({});
  const StatusOr<ClassSet> classes = context.crawls.ClassesOf(pull.crawl_ids);
  if (!classes.ok()) return done({});
  const StatusOr<WorkerId> worker = context.dispatcher.Join(
      {.name = "urlfrontier " + pull.address,
       .address = pull.address,
       .lease = Duration::Seconds(PullLeaseSeconds(context, pull.lease_seconds)),
       .takes = *classes,
       .waiter = true,
       .waits_until = context.clock.Now() + kPullWait},
      std::make_shared<PullingWorker>(done), static_cast<size_t>(context.config.max_workers));
  if (!worker.ok()) return done({});
  context.dispatcher.Grant(*worker, pull.most);
}

uint32_t PullLeaseSeconds(const ServerContext& context, uint32_t asked) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(asked, 1, context.config.max_lease.get().micros() / 1'000'000));
}

}  // namespace freshet
