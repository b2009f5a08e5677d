#include "server/engine/worker_roster.h"

#include <algorithm>

namespace freshet {

WorkerRecord& WorkerRoster::FindOrAdd(const std::string& name) {
  const auto known = records_.find(name);
  if (known != records_.end()) return known->second;
  if (records_.size() >= kMaxNames) {
    const auto oldest = std::min_element(
        records_.begin(), records_.end(),
        [](const auto& a, const auto& b) { return a.second.last_seen < b.second.last_seen; });
    records_.erase(oldest);
  }
  WorkerRecord& record = records_[name];
  record.name = name;
  return record;
}

void WorkerRoster::Saw(const std::string& name, const std::string& address, Instant now) {
  const MutexLock lock(mutex_);
  WorkerRecord& record = FindOrAdd(name);
  record.last_seen = now;
  if (!address.empty()) record.address = address;
}

void WorkerRoster::Count(const LeaseTallies& tallies, Instant now) {
  const MutexLock lock(mutex_);
  for (const auto& [name, tally] : tallies) {
    // One that was forgotten has leases that nobody counts any more.
    if (tally.opened == 0 && !records_.contains(name)) continue;
    WorkerRecord& record = FindOrAdd(name);
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
    for (const auto& [name, record] : records_) records.push_back(record);
  }
  std::sort(records.begin(), records.end(), [](const WorkerRecord& a, const WorkerRecord& b) {
    return a.last_seen != b.last_seen ? a.last_seen > b.last_seen : a.name < b.name;
  });
  return records;
}

}  // namespace freshet
