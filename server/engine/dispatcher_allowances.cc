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
    for (const auto& [name, tally] : tallies) {
      const size_t reduced = allowances_.reduced();
      const bool was_proven = allowances_.proven(name);
      const std::optional<uint64_t> told = allowances_.Apply(name, tally);
      LetIn(name);
      if (!was_proven && allowances_.proven(name)) LetInProven(name);
      if (allowances_.reduced() != reduced) LogAllowance(name, allowances_.reduced() > reduced);
      if (!told) continue;
      for (const auto& [id, worker] : workers_) {
        if (worker.terms.name != name) continue;
        news.push_back({worker.sink, *told, allowances_.whole(*told)});
      }
    }
    LetInNewcomers(newcomer_leases);
  }
  for (const News& each : news) each.sink->OnAllowance(each.leases, each.whole);
}

void Dispatcher::LogAllowance(const std::string& name, bool reduced) {
  const Instant now = clock_.Now();
  if (reduced) {
    if (const auto more = log_reduced_.Admit(now)) {
      Logger(LogModule::kEngine)
          .warn("leases of worker '{}' ran out without a result: it may hold fewer{}", name, *more);
    }
  } else if (const auto more = log_restored_.Admit(now)) {
    Logger(LogModule::kEngine)
        .info("worker '{}' may hold as many leases as any other again{}", name, *more);
  }
}

void Dispatcher::LetIn(const std::string& name) {
  const auto full = full_.find(name);
  if (full == full_.end()) return;
  // All of one name are full by the same leases, wherever they come from.
  const auto why = allowances_.FullBy(name, {});
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

void Dispatcher::LetInProven(const std::string& name) {
  const auto of_name = [&](WorkerId id) FRESHET_REQUIRES(mutex_) {
    const auto it = workers_.find(id);
    return it != workers_.end() && it->second.terms.name == name;
  };
  for (const WorkerId id : newcomers_in_turn_.Extract(of_name)) PutInTurn(id, workers_.at(id));
  std::deque<WorkerId> others;
  for (const WorkerId id : crowded_) {
    workers_.at(id).terms.name == name ? Readmit(id) : others.push_back(id);
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

std::optional<WorkerAllowances::Full> Dispatcher::FullBy(const std::string& name,
                                                         const std::string& address) const {
  const MutexLock lock(mutex_);
  return allowances_.FullBy(name, address);
}

std::vector<WorkerRecord> Dispatcher::workers() const {
  std::vector<WorkerRecord> records = roster_.records();
  absl::flat_hash_map<std::string, WorkerRecord*> by_name;
  for (WorkerRecord& record : records) by_name[record.name] = &record;
  const MutexLock lock(mutex_);
  for (const auto& [id, worker] : workers_) {
    const auto it = by_name.find(worker.terms.name);
    if (it == by_name.end()) continue;
    ++it->second->streams;
    it->second->credit += worker.credit;
  }
  return records;
}

}  // namespace freshet
