// Prometheus metrics: counters and gauges read from the server's status at the time of the scrape,
// and histograms that are filled as things happen. docs/metrics.md describes every one.
#ifndef FRESHET_SERVER_OPS_METRICS_H_
#define FRESHET_SERVER_OPS_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/api/status.h"
#include "server/engine/shard.h"

namespace freshet {

// Thread-safe.
class Metrics final : public ShardObserver {
 public:
  Metrics();

  // Who is told of all that the shards say; outlives them. Set before they start.
  void SetNext(ShardObserver* next) { next_ = next; }

  void OnCommit(Duration took, size_t events) override;
  void OnFailure(uint16_t shard, const Status& status) override;
  void OnPagesMayBeDue() override;
  void OnLeases(const LeaseTallies& tallies) override;
  void OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings) override;
  void OnQuarantine(const QuarantineNews& news) override;
  void OnCrawlEmptied(uint16_t shard, const std::string& crawl_id) override;
  void OnCrawlDeclassed(uint16_t shard, const std::string& crawl_id) override;

  // What there is to say before the server serves. `cluster`: its name and what was read so far.
  [[nodiscard]] static std::string RenderStarting(const RecoveryStatus& recovery,
                                                  const ClusterStatus& cluster);
  // Everything in the Prometheus text format; annotations come as freshet_annotation{name=...}.
  [[nodiscard]] std::string Render(const ServerStatus& status,
                                   const std::map<std::string, double>& annotations) const;

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Histogram* commit_seconds_;
  prometheus::Histogram* commit_events_;
  ShardObserver* next_ = nullptr;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_METRICS_H_
