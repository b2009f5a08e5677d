#include "server/api/page_pull.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "server/base/system_clock.h"
#include "server/config.h"
#include "server/engine/class_table.h"
#include "server/engine/crawls.h"
#include "server/engine/dispatcher.h"
#include "server/engine/turn_queue.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// A worker that is served once. Thread-safe.
class PullingWorker final : public AssignmentSink {
 public:
  PullingWorker(std::function<void(std::vector<Assignment>)> done,
                std::shared_ptr<const void> classes)
      : done_(std::move(done)), classes_(std::move(classes)) {}

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
  // Both events are ignored, because the pull ends soon anyway.
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}

 private:
  const std::function<void(std::vector<Assignment>)> done_;
  const std::shared_ptr<const void> classes_;  // keeps the classes assigned to their crawl ids
  Mutex mutex_;
  std::vector<Assignment> assignments_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace

void PullPages(const ServerContext& context, const PagePull& pull,
               std::function<void(std::vector<Assignment>)> done) {
  if (context.dispatcher.pause() || !context.dispatcher.stalled().ok()) return done({});
  // The classes count against no client's share (Claim), because operators, not clients, decide
  // which crawl ids are scheduled.
  const StatusOr<TakenClasses> classes =
      context.crawls.ClassesOf(pull.crawl_ids, Claim(), context.clock.Now());
  if (!classes.ok()) return done({});
  const StatusOr<WorkerId> worker = context.dispatcher.Join(
      {.name = "urlfrontier " + pull.who.address,
       .client = pull.who.client,
       .address = pull.who.address,
       .lease = Duration::Seconds(PullLeaseSeconds(context, pull.lease_seconds)),
       .takes = classes->set,
       .waiter = true,
       .waits_until = context.clock.Now() + kPullWait},
      std::make_shared<PullingWorker>(done, classes->hold),
      static_cast<size_t>(context.config.max_workers));
  if (!worker.ok()) return done({});
  context.dispatcher.Grant(*worker, pull.most);
}

uint32_t PullLeaseSeconds(const ServerContext& context, uint32_t asked) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(asked, 1, context.config.max_lease.get().micros() / 1'000'000));
}

}  // namespace freshet
