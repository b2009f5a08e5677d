#include "server/plan_runner.h"

#include <algorithm>
#include <future>
#include <memory>
#include <span>
#include <utility>

#include "core/schedule/page_plan.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

Status Stopping() {
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

Status Stopped() { return MakeStatus(absl::StatusCode::kUnavailable, "a shard is stopped"); }

}  // namespace

PlanRunner::PlanRunner(const PlanRunnerOptions& options, Router& router, std::function<Rate()> rate)
    : options_(options), router_(router), rate_(std::move(rate)), thread_([this] { Run(); }) {}

PlanRunner::~PlanRunner() { Stop(); }

void PlanRunner::SetMethod(std::optional<PlanMethod> method, Done done) {
  MutexLock lock(mutex_);
  if (stop_) {
    lock.Unlock();
    if (done) done(Stopping());
    return;
  }
  method_ = method;
  wanted_ = true;
  if (done) waiters_.push_back(std::move(done));
  wake_.NotifyAll();
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

bool PlanRunner::stopping() const {
  const MutexLock lock(mutex_);
  return stop_;
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
    wake_.WaitFor(mutex_, wait);
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
    const std::vector<Done> waiters = std::exchange(waiters_, {});
    lock.Unlock();
    Status status;
    if (method) status = MakeAndHandOut(*method);
    if (!status.ok()) spdlog::warn("no plan: {}", std::string(status.message()));
    for (const Done& done : waiters) done(status);
    lock.Lock();
  }
  const std::vector<Done> waiters = std::exchange(waiters_, {});
  lock.Unlock();
  for (const Done& done : waiters) done(Stopping());
}

bool PlanRunner::Ask(Shard& shard, const std::function<void(const ShardView&)>& query) {
  // A shard that stops may drop the query: the promise is then broken, and the wait over.
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

Status PlanRunner::Collect(PlanColumns& columns, std::vector<uint32_t>& ids) {
  for (Shard* shard : router_.shards()) {
    uint32_t taken = 0;
    for (uint32_t got = 1; got > 0; taken += got) {
      if (stopping()) return Stopping();
      // Into a part of its own: on the shard's thread no large vector is to grow.
      PlanColumns part;
      const auto collect = [&](const ShardView& view) {
        got = view.state.CollectPlan(taken, options_.slice, &part);
      };
      if (!Ask(*shard, collect)) return Stopped();
      columns.Append(part);
    }
    ids.push_back(taken);
  }
  return {};
}

Status PlanRunner::HandOut(Shard& shard, PlanMethod method, Rate newcomer_rate,
                           std::span<const PlannedCrawls> crawls) {
  bool current = true;  // the policy is still the one that this plan is for
  const auto is_current = [method](const ShardView& view) {
    return view.state.policy().plan == method;
  };
  if (!crawls.empty()) {
    const auto begin = [&](const ShardView& view) {
      current = is_current(view) && view.state.BeginPlan(newcomer_rate);
    };
    if (!Ask(shard, begin)) return Stopped();
  }
  for (uint32_t first = 0; current && first < crawls.size(); first += options_.slice) {
    if (stopping()) return Stopping();
    const auto part =
        crawls.subspan(first, std::min<size_t>(options_.slice, crawls.size() - first));
    const auto stage = [&](const ShardView& view) {
      current = is_current(view) && view.state.StagePlan(first, part, view.now);
    };
    if (!Ask(shard, stage)) return Stopped();
  }
  const auto finish = [&](const ShardView& view) {
    bool refile = false;
    current = is_current(view) && view.state.FinishPlan(&refile);
    if (refile) view.epochs.RequestReestimate([](const StatusOr<EpochResult>&) {});
  };
  if (current && !Ask(shard, finish)) return Stopped();
  return {};
}

Status PlanRunner::MakeAndHandOut(PlanMethod method) {
  PlanColumns columns;
  std::vector<uint32_t> ids;  // of each shard
  planned_pages_ = Pages();
  RETURN_IF_ERROR(Collect(columns, ids));
  const Rate rate = rate_();
  std::vector<PlannedCrawls> crawls;
  if (planned_pages_ > 0 && rate > Rate()) {
    ASSIGN_OR_RETURN(crawls, PlanCrawls(method, columns, rate));
  }
  const Rate newcomer_rate = Rate::PerSecond(
      rate.per_second() / static_cast<double>(std::max<size_t>(1, columns.Pages())));
  size_t offset = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto mine =
        std::span(crawls).subspan(std::min(offset, crawls.size()), crawls.empty() ? 0 : ids[i]);
    offset += ids[i];
    if (stopping()) return Stopping();
    RETURN_IF_ERROR(HandOut(*router_.shards()[i], method, newcomer_rate, mine));
  }
  return {};
}

}  // namespace freshet
