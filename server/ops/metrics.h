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

  // Who else is to be told. Set before the shards start.
  void SetHandlers(std::function<void(uint16_t, const Status&)> on_failure,
                   std::function<void()> on_pages_may_be_due,
                   std::function<void(const LeaseTallies&)> on_leases,
                   std::function<void(const QuarantineNews&)> on_quarantine,
                   std::function<void(uint16_t, const std::string&)> on_crawl_emptied);

  void OnCommit(Duration took, size_t events) override;
  void OnFailure(uint16_t shard, const Status& status) override;
  void OnPagesMayBeDue() override;
  void OnLeases(const LeaseTallies& tallies) override;
  void OnQuarantine(const QuarantineNews& news) override;
  void OnCrawlEmptied(uint16_t shard, const std::string& crawl_id) override;

  // What there is to say before the server serves.
  [[nodiscard]] static std::string RenderStarting(const RecoveryStatus& recovery);
  // Everything in the Prometheus text format; annotations come as freshet_annotation{name=...}.
  [[nodiscard]] std::string Render(const ServerStatus& status,
                                   const std::map<std::string, double>& annotations) const;

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Histogram* commit_seconds_;
  prometheus::Histogram* commit_events_;
  std::function<void(uint16_t, const Status&)> on_failure_;
  std::function<void()> on_pages_may_be_due_;
  std::function<void(const LeaseTallies&)> on_leases_;
  std::function<void(const QuarantineNews&)> on_quarantine_;
  std::function<void(uint16_t, const std::string&)> on_crawl_emptied_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_METRICS_H_
