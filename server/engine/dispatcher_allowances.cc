// What becomes of workers whose leases open and end: those that may hold more are let in again.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/engine/dispatcher.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Newcomers that are looked at when one of their leases ends. Those that still may not hold more
// wait behind the others.
constexpr size_t kLookedAt = 64;

}  // namespace

void Dispatcher::OnLeases(const LeaseTallies& tallies) {
  struct News {
    std::shared_ptr<AssignmentSink> sink;
    uint64_t leases = 0;
    bool whole = false;
  };
  std::vector<News> news;
  roster_.Count(tallies, clock_.Now());
  {
    const MutexLock lock(mutex_);
    const uint64_t newcomer_leases = allowances_.newcomer_leases();
    for (const auto& [key, tally] : tallies) {
      const size_t reduced = allowances_.reduced();
      const bool was_proven = allowances_.proven(key);
      const std::optional<uint64_t> told = allowances_.Apply(key, tally);
      LetIn(key);
      if (!was_proven && allowances_.proven(key)) LetInProven(key);
      if (allowances_.reduced() != reduced) LogAllowance(key, allowances_.reduced() > reduced);
      if (!told) continue;
      for (const auto& [id, worker] : workers_) {
        if (worker.key != key) continue;
        news.push_back({worker.sink, *told, allowances_.whole(*told)});
      }
    }
    LetInNewcomers(newcomer_leases);
  }
  for (const News& each : news) each.sink->OnAllowance(each.leases, each.whole);
}

void Dispatcher::LogAllowance(const WorkerKey& key, bool reduced) {
  const Instant now = clock_.Now();
  if (reduced) {
    if (const auto more = log_reduced_.Admit(now)) {
      Logger(LogModule::kEngine)
          .warn(
              "leases of worker '{}' of {} ran out without a result: this worker may now hold "
              "fewer leases{}",
              key.name, key.client, *more);
    }
  } else if (const auto more = log_restored_.Admit(now)) {
    Logger(LogModule::kEngine)
        .info("worker '{}' of {} may again hold as many leases as other workers{}", key.name,
              key.client, *more);
  }
}

void Dispatcher::LetIn(const WorkerKey& key) {
  const auto full = full_.find(key);
  if (full == full_.end()) return;
  // All of one key are full by the same leases.
  const auto why = allowances_.FullBy(key);
  if (why && !why->newcomers) return;
  for (const WorkerId id : full->second) {
    Readmit(id);
  }
  full_.erase(full);
  condition_.NotifyOne();
}

void Dispatcher::Readmit(WorkerId id) {
  Worker& worker = workers_.at(id);
  worker.full = worker.crowded = false;
  PutInTurn(id, worker);
}

void Dispatcher::LetInProven(const WorkerKey& key) {
  const auto of_key = [&](WorkerId id) FRESHET_REQUIRES(mutex_) {
    const auto it = workers_.find(id);
    return it != workers_.end() && it->second.key == key;
  };
  for (const WorkerId id : newcomers_in_turn_.Extract(of_key)) PutInTurn(id, workers_.at(id));
  std::deque<WorkerId> others;
  for (const WorkerId id : crowded_) {
    workers_.at(id).key == key ? Readmit(id) : others.push_back(id);
  }
  crowded_ = std::move(others);
  condition_.NotifyOne();
}

void Dispatcher::LetInNewcomers(uint64_t before) {
  if (allowances_.newcomer_leases() >= before || crowded_.empty()) return;
  for (size_t left = std::min(kLookedAt, crowded_.size()); left > 0; --left) {
    const WorkerId id = crowded_.front();
    crowded_.pop_front();
    Readmit(id);
  }
  condition_.NotifyOne();
}

std::optional<WorkerAllowances::Full> Dispatcher::FullBy(const WorkerKey& worker) const {
  const MutexLock lock(mutex_);
  return allowances_.FullBy(worker);
}

std::vector<WorkerRecord> Dispatcher::workers() const {
  std::vector<WorkerRecord> records = roster_.records();
  absl::flat_hash_map<WorkerKey, WorkerRecord*> by_key;
  for (WorkerRecord& record : records) by_key[{record.client, record.name}] = &record;
  const MutexLock lock(mutex_);
  for (const auto& [id, worker] : workers_) {
    const auto it = by_key.find(worker.key);
    if (it == by_key.end()) continue;
    ++it->second->streams;
    it->second->credit += worker.credit;
  }
  return records;
}

}  // namespace freshet
