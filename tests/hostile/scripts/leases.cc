// Workers that report results twice, for leases of other workers, and for leases that never
// existed. They also return leases that already have results.
#include <string>
#include <vector>

#include "tests/hostile/scripts.h"
#include "tests/hostile/worker.h"

namespace freshet::hostile {
namespace {

uint64_t AnyLease(Attack& attack, const std::vector<uint64_t>& seen) {
  if (seen.empty() || attack.OneIn(4)) return attack.Below(UINT64_MAX);
  const uint64_t lease = seen[attack.Below(seen.size())];
  return attack.OneIn(4) ? lease + attack.Below(50) : lease;
}

void AddResult(Attack& attack, const std::vector<uint64_t>& seen, v1::ResultBatch* batch) {
  v1::CrawlResult& result = *batch->add_results();
  result.set_lease_id(AnyLease(attack, seen));
  if (attack.OneIn(3)) result.set_url(attack.AnyUrl());
  if (attack.OneIn(5)) result.set_crawl_id(attack.OddText());
  result.set_outcome(static_cast<v1::CrawlOutcome>(attack.Below(8)));
  if (attack.OneIn(3)) result.set_content_digest(attack.Bytes(600));
}

}  // namespace

void Leases(Attack& attack) {
  const auto channel = attack.Connect();
  std::vector<uint64_t> seen;
  while (!attack.Over()) {
    Worker worker(attack, channel, "liar", 2);
    worker.Grant(5);
    const std::vector<v1::Assignment> assignments = worker.Receive();
    for (const v1::Assignment& assignment : assignments) seen.push_back(assignment.lease_id());
    for (int round = 0; round < 10 && !attack.Over(); ++round) {
      v1::CrawlRequest request;
      if (attack.OneIn(2)) {
        for (uint64_t i = 1 + attack.Below(20); i > 0; --i) {
          AddResult(attack, seen, request.mutable_results());
        }
      } else {
        for (uint64_t i = 1 + attack.Below(20); i > 0; --i) {
          request.mutable_returned_leases()->add_lease_ids(AnyLease(attack, seen));
        }
      }
      if (!worker.Send(request)) break;
    }
    if (attack.OneIn(2)) worker.HalfClose();
    if (seen.size() > 1000) seen.erase(seen.begin(), seen.begin() + 500);
  }
}

}  // namespace freshet::hostile
