#include "server/plan_runner.h"

#include <algorithm>
#include <future>
#include <memory>
#include <span>
#include <utility>

#include "core/schedule/page_plan.h"
#include "spdlog/spdlog.h"

namespace freshet {

PlanRunner::PlanRunner(const PlanRunnerOptions& options, Router& router, std::function<Rate()> rate)
    : options_(options), router_(router), rate_(std::move(rate)), thread_([this] { Run(); }) {}

PlanRunner::~PlanRunner() { Stop(); }

void PlanRunner::SetMethod(std::optional<PlanMethod> method, Done done) {
  const MutexLock lock(mutex_);
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

void PlanRunner::Run() {
  const Duration interval =
      options_.interval > Duration() ? options_.interval : Duration::Infinite();
  MutexLock lock(mutex_);
  while (!stop_) {
    if (!wanted_) wake_.WaitFor(mutex_, interval);
    if (stop_) break;
    // An interval may pass while no rate policy is set, and a wake may be spurious: a plan too
    // many does no harm.
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
  for (const Done& done : waiters) {
    done(MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down"));
  }
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

Status PlanRunner::MakeAndHandOut(PlanMethod method) {
  const Status stopped = MakeStatus(absl::StatusCode::kUnavailable, "a shard is stopped");
  PlanColumns columns;
  std::vector<uint32_t> ids;  // of each shard
  for (Shard* shard : router_.shards()) {
    uint32_t taken = 0;
    for (uint32_t got = 1; got > 0; taken += got) {
      const auto collect = [&](const ShardView& view) {
        got = view.state.CollectPlan(taken, options_.slice, &columns);
      };
      if (!Ask(*shard, collect)) return stopped;
    }
    ids.push_back(taken);
  }
  const Rate rate = rate_();
  const auto pages = static_cast<double>(columns.importance.size());
  if (pages == 0 || rate <= Rate()) return {};  // nothing to plan yet
  ASSIGN_OR_RETURN(const std::vector<PlannedCrawls> crawls, PlanCrawls(method, columns, rate));
  const Rate newcomer_rate = Rate::PerSecond(rate.per_second() / pages);
  size_t offset = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    Shard& shard = *router_.shards()[i];
    const auto mine = std::span(crawls).subspan(offset, ids[i]);
    offset += ids[i];
    bool current = true;  // the policy is still the one that this plan is for
    const auto is_current = [&](const ShardView& view) {
      return view.state.policy().plan == method;
    };
    const auto begin = [&](const ShardView& view) {
      current = is_current(view);
      if (current) view.state.BeginPlan(newcomer_rate);
    };
    if (!Ask(shard, begin)) return stopped;
    for (uint32_t first = 0; current && first < ids[i]; first += options_.slice) {
      const auto part = mine.subspan(first, std::min(options_.slice, ids[i] - first));
      const auto stage = [&](const ShardView& view) {
        current = is_current(view) && view.state.StagePlan(first, part, view.now);
      };
      if (!Ask(shard, stage)) return stopped;
    }
    const auto finish = [&](const ShardView& view) {
      current = is_current(view) && view.state.FinishPlan();
    };
    if (current && !Ask(shard, finish)) return stopped;
  }
  return {};
}

}  // namespace freshet
