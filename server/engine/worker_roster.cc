#include "server/engine/worker_roster.h"

#include <algorithm>
#include <tuple>

namespace freshet {

WorkerRecord& WorkerRoster::FindOrAdd(const WorkerKey& worker) {
  const auto known = records_.find(worker);
  if (known != records_.end()) return known->second;
  if (records_.size() >= kMaxNames) {
    absl::flat_hash_map<std::string, size_t> workers_of;
    for (const auto& [key, record] : records_) ++workers_of[key.client];
    const auto goes_later = [&](const auto& a, const auto& b) {
      const size_t of_a = workers_of[a.first.client];
      const size_t of_b = workers_of[b.first.client];
      return of_a != of_b ? of_a < of_b : a.second.last_seen > b.second.last_seen;
    };
    records_.erase(std::max_element(records_.begin(), records_.end(), goes_later));
  }
  WorkerRecord& record = records_[worker];
  record.name = worker.name;
  record.client = worker.client;
  return record;
}

void WorkerRoster::Saw(const WorkerKey& worker, const std::string& address, Instant now) {
  const MutexLock lock(mutex_);
  WorkerRecord& record = FindOrAdd(worker);
  record.last_seen = now;
  if (!address.empty()) record.address = address;
}

void WorkerRoster::Count(const LeaseTallies& tallies, Instant now) {
  const MutexLock lock(mutex_);
  for (const auto& [worker, tally] : tallies) {
    // The end of a lease does not make a new record for a forgotten worker.
    if (tally.opened == 0 && !records_.contains(worker)) continue;
    WorkerRecord& record = FindOrAdd(worker);
    if (record.last_seen.is_none() || tally.answered > 0) record.last_seen = now;
    record.assignments += tally.opened;
    record.results += tally.answered;
    record.expired += tally.expired;
    record.leases += tally.opened;
    record.leases -= std::min<uint64_t>(record.leases, tally.ended);
  }
}

std::vector<WorkerRecord> WorkerRoster::records() const {
  std::vector<WorkerRecord> records;
  {
    const MutexLock lock(mutex_);
    records.reserve(records_.size());
    for (const auto& [key, record] : records_) records.push_back(record);
  }
  std::sort(records.begin(), records.end(), [](const WorkerRecord& a, const WorkerRecord& b) {
    return a.last_seen != b.last_seen ? a.last_seen > b.last_seen
                                      : std::tie(a.name, a.client) < std::tie(b.name, b.client);
  });
  return records;
}

}  // namespace freshet
