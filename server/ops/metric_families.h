// How metrics are put together: families with their samples, in the order in which they are shown.
#ifndef FRESHET_SERVER_OPS_METRIC_FAMILIES_H_
#define FRESHET_SERVER_OPS_METRIC_FAMILIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "server/api/status.h"

namespace freshet {

using Families = std::vector<prometheus::MetricFamily>;
using Labels = std::vector<std::pair<std::string, std::string>>;

// Starts a family; its samples follow. Thread-compatible.
class FamilyWriter {
 public:
  // Which outlive it.
  explicit FamilyWriter(Families* families) : families_(*families) {}

  FamilyWriter& Counter(const char* name, const char* help) {
    return Start(name, help, prometheus::MetricType::Counter);
  }
  FamilyWriter& Gauge(const char* name, const char* help) {
    return Start(name, help, prometheus::MetricType::Gauge);
  }
  FamilyWriter& Histogram(const char* name, const char* help) {
    return Start(name, help, prometheus::MetricType::Histogram);
  }
  FamilyWriter& Add(double value, const Labels& labels = {}) {
    prometheus::ClientMetric metric = Labelled(labels);
    metric.counter.value = value;
    metric.gauge.value = value;
    families_.back().metric.push_back(std::move(metric));
    return *this;
  }
  FamilyWriter& Add(uint64_t value, const Labels& labels = {}) {
    return Add(static_cast<double>(value), labels);
  }
  // A sample of a histogram: how many there were up to each bound and above the one before, the
  // last beyond all of them, and the sum. Both are ranges; `counts` is longer by one.
  template <typename Bounds, typename Counts>
  FamilyWriter& AddCounts(const Bounds& bounds, const Counts& counts, double sum,
                          const Labels& labels = {}) {
    prometheus::ClientMetric metric = Labelled(labels);
    uint64_t total = 0;
    for (size_t i = 0; i < bounds.size(); ++i) {
      total += counts[i];
      metric.histogram.bucket.push_back({.cumulative_count = total, .upper_bound = bounds[i]});
    }
    metric.histogram.sample_count = total + counts[bounds.size()];
    metric.histogram.sample_sum = sum;
    families_.back().metric.push_back(std::move(metric));
    return *this;
  }

 private:
  [[nodiscard]] static prometheus::ClientMetric Labelled(const Labels& labels) {
    prometheus::ClientMetric metric;
    for (const auto& [name, label] : labels) metric.label.push_back({name, label});
    return metric;
  }
  FamilyWriter& Start(const char* name, const char* help, prometheus::MetricType type) {
    prometheus::MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    families_.push_back(std::move(family));
    return *this;
  }

  Families& families_;
};

// How well the server does: lateness, sources, hosts, the index, epochs, calls, queues, the insides
// of the store.
void WriteFigures(const ServerStatus& status, FamilyWriter& out);
// What the process takes of the machine, under the names that all of Prometheus' clients have.
void WriteProcess(FamilyWriter& out);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_METRIC_FAMILIES_H_
