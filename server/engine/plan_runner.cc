#include "server/engine/plan_runner.h"

#include <algorithm>
#include <future>
#include <memory>
#include <span>
#include <utility>

#include "core/schedule/page_plan.h"
#include "core/schedule/policy_switch.h"
#include "server/base/refusals.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

Status Superseded() {
  return MakeStatus(absl::StatusCode::kAborted,
                    "policy: another policy was set at the same time, so this one is not used");
}

Status Stopped() { return MakeStatus(absl::StatusCode::kUnavailable, "a shard is stopped"); }

}  // namespace

PlanRunner::PlanRunner(const PlanRunnerOptions& options, Router& router, std::function<Rate()> rate)
    : options_(options), router_(router), rate_(std::move(rate)), thread_([this] { Run(); }) {}

PlanRunner::~PlanRunner() { Stop(); }

uint64_t PlanRunner::BeginChange(std::optional<PlanMethod> method) {
  MutexLock lock(mutex_);
  if (method == wanted_method_) return change_;
  const uint64_t change = ++change_;
  wanted_method_ = method;
  method_.reset();
  const std::vector<Done> superseded = std::exchange(waiters_, {});
  lock.Unlock();
  for (const Done& done : superseded) done(Superseded());
  return change;
}

void PlanRunner::Follow(uint64_t change, Done done) {
  MutexLock lock(mutex_);
  if (stop_ || change != change_) {
    const Status status = stop_ ? ServerIsStopping() : Superseded();
    lock.Unlock();
    if (done) done(status);
    return;
  }
  method_ = wanted_method_;
  wanted_ = true;
  if (done) waiters_.push_back(std::move(done));
  wake_.NotifyAll();
}

void PlanRunner::SetMethod(std::optional<PlanMethod> method, Done done) {
  Follow(BeginChange(method), std::move(done));
}

void PlanRunner::Poke() {
  const MutexLock lock(mutex_);
  wanted_ = true;
  wake_.NotifyAll();
}

void PlanRunner::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

Status PlanRunner::GoOn(const Job& job) const {
  const MutexLock lock(mutex_);
  if (stop_) return ServerIsStopping();
  return change_ == job.change ? absl::OkStatus() : Superseded();
}

uint64_t PlanRunner::Pages() const {
  uint64_t pages = 0;
  for (const Shard* shard : router_.shards()) pages += shard->snapshot().counters.pages;
  return pages;
}

void PlanRunner::WaitForWork() {
  Duration left = options_.interval > Duration() ? options_.interval : Duration::Infinite();
  while (!stop_ && !wanted_ && left > Duration()) {
    if (!method_) {
      wake_.Wait(mutex_);
      continue;
    }
    const Duration wait = std::min(left, options_.look);
    wake_.WaitFor(mutex_, wait.chrono());
    if (!left.infinite()) left = left - wait;
    if (Pages() > planned_pages_ + planned_pages_ / 2) return;
  }
}

void PlanRunner::Run() {
  MutexLock lock(mutex_);
  while (!stop_) {
    WaitForWork();
    if (stop_) break;
    wanted_ = false;
    const std::optional<PlanMethod> method = method_;
    const uint64_t change = change_;
    const std::vector<Done> waiters = std::exchange(waiters_, {});
    lock.Unlock();
    Status status;
    if (method) status = MakeAndHandOut({*method, change});
    const bool given_up = absl::IsUnavailable(status) || absl::IsAborted(status);
    if (!status.ok() && !given_up)
      Logger(LogModule::kEngine).warn("no plan: {}", std::string(status.message()));
    for (const Done& done : waiters) done(status);
    lock.Lock();
  }
  const std::vector<Done> waiters = std::exchange(waiters_, {});
  lock.Unlock();
  for (const Done& done : waiters) done(ServerIsStopping());
}

bool PlanRunner::Ask(Shard& shard, const std::function<void(const ShardView&)>& query) {
  // A stopping shard may drop the query. Its promise is then broken, which ends the wait.
  auto answered = std::make_shared<std::promise<void>>();
  std::future<void> future = answered->get_future();
  const bool taken = shard.Query([answered = std::move(answered), &query](const ShardView& view) {
    query(view);
    answered->set_value();
  });
  if (!taken) return false;
  try {
    future.get();
  } catch (const std::future_error&) {
    return false;
  }
  return true;
}

Status PlanRunner::Collect(const Job& job, PlanColumns& columns, std::vector<uint32_t>& ids) {
  for (Shard* shard : router_.shards()) {
    uint32_t taken = 0;
    for (uint32_t got = 1; got > 0; taken += got) {
      RETURN_IF_ERROR(GoOn(job));
      // Each slice fills a separate part, so that no large vector grows on the shard's thread.
      PlanColumns part;
      const auto collect = [&](const ShardView& view) {
        got = view.state.policies().CollectPlan(taken, options_.slice, &part);
      };
      if (!Ask(*shard, collect)) return Stopped();
      columns.Append(part);
    }
    ids.push_back(taken);
  }
  return {};
}

Status PlanRunner::HandOut(const Job& job, Shard& shard, Rate newcomer_rate,
                           std::span<const PlannedCrawls> crawls) {
  bool current = true;  // the shard's policy still uses this plan's method
  const auto is_current = [&job](const ShardView& view) {
    return view.state.policies().policy().plan == job.method;
  };
  if (!crawls.empty()) {
    const auto begin = [&](const ShardView& view) {
      current = is_current(view) && view.state.policies().BeginPlan(newcomer_rate);
    };
    if (!Ask(shard, begin)) return Stopped();
  }
  for (uint32_t first = 0; current && first < crawls.size(); first += options_.slice) {
    RETURN_IF_ERROR(GoOn(job));
    const auto part =
        crawls.subspan(first, std::min<size_t>(options_.slice, crawls.size() - first));
    const auto stage = [&](const ShardView& view) {
      current = is_current(view) && view.state.policies().StagePlan(first, part, view.now);
    };
    if (!Ask(shard, stage)) return Stopped();
  }
  const auto finish = [&](const ShardView& view) {
    bool refile = false;
    current = is_current(view) && view.state.policies().FinishPlan(&refile);
    if (refile) view.epochs.RequestFiling([](const StatusOr<EpochResult>&) {});
  };
  if (current && !Ask(shard, finish)) return Stopped();
  return current ? absl::OkStatus() : Superseded();
}

Status PlanRunner::MakeAndHandOut(const Job& job) {
  PlanColumns columns;
  std::vector<uint32_t> ids;  // number of ids, by shard
  planned_pages_ = Pages();
  RETURN_IF_ERROR(Collect(job, columns, ids));
  const Rate rate = rate_();
  std::vector<PlannedCrawls> crawls;
  if (planned_pages_ > 0 && rate > Rate()) {
    PlanOptions options;
    options.parallel = {SerialFor, [this, &job] { return GoOn(job).ok(); }};
    StatusOr<std::vector<PlannedCrawls>> plan = PlanCrawls(job.method, columns, rate, options);
    RETURN_IF_ERROR(GoOn(job));
    RETURN_IF_ERROR(plan.status());
    crawls = *std::move(plan);
  }
  const Rate newcomer_rate = Rate::PerSecond(
      rate.per_second() / static_cast<double>(std::max<size_t>(1, columns.Pages())));
  size_t offset = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto mine =
        std::span(crawls).subspan(std::min(offset, crawls.size()), crawls.empty() ? 0 : ids[i]);
    offset += ids[i];
    RETURN_IF_ERROR(GoOn(job));
    RETURN_IF_ERROR(HandOut(job, *router_.shards()[i], newcomer_rate, mine));
  }
  return {};
}

}  // namespace freshet
