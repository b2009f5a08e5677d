#include "server/ops/metrics.h"

#include <string_view>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"
#include "server/api/figure.h"

namespace freshet {
namespace {

using prometheus::ClientMetric;
using Labels = std::vector<ClientMetric::Label>;

// Returns the text without link markup and link targets.
std::string Help(std::string_view markdown) {
  std::string text;
  for (size_t i = 0; i < markdown.size(); ++i) {
    if (markdown[i] == '[') continue;
    if (markdown.substr(i, 2) == "](") {
      i = markdown.find(')', i);
    } else {
      text += markdown[i];
    }
  }
  return text;
}

prometheus::MetricType TypeOf(FigureType type) {
  switch (type) {
    case FigureType::kGauge:
      return prometheus::MetricType::Gauge;
    case FigureType::kCounter:
      return prometheus::MetricType::Counter;
    case FigureType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

ClientMetric::Histogram HistogramOf(const Value& value) {
  ClientMetric::Histogram histogram;
  const Value& bounds = value.at("bounds");
  const Value& counts = value.at("counts");
  uint64_t total = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    total += counts.at(i).get<uint64_t>();
    histogram.bucket.push_back({.cumulative_count = total, .upper_bound = bounds[i]});
  }
  histogram.sample_count = total + counts.at(bounds.size()).get<uint64_t>();
  histogram.sample_sum = value.at("sum");
  return histogram;
}

// Adds the samples of a value. `labels` holds all labels except for the last `missing` ones.
void AddSamples(const Figure& figure, size_t missing, const Value& value, Labels* labels,
                prometheus::MetricFamily* family) {
  if (value.is_null() || value.is_discarded()) return;
  if (missing > 0) {
    for (const auto& [label, inner] : value.items()) {
      labels->push_back({figure.labels[figure.labels.size() - missing], label});
      AddSamples(figure, missing - 1, inner, labels, family);
      labels->pop_back();
    }
    return;
  }
  ClientMetric& metric = family->metric.emplace_back();
  metric.label = *labels;
  if (figure.type == FigureType::kHistogram) {
    metric.histogram = HistogramOf(value);
  } else {
    metric.gauge.value = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
    metric.counter.value = metric.gauge.value;
  }
}

void AddFigure(const Figure& figure, const ServerStatus& status, const Labels& common,
               prometheus::MetricFamily* family) {
  for (const FigureValue& value : figure.values) {
    Labels labels = common;
    if (!value.label.empty()) labels.push_back({figure.labels.front(), value.label});
    const size_t missing = figure.labels.size() - (value.label.empty() ? 0 : 1);
    AddSamples(figure, missing, value.get(status), &labels, family);
  }
}

}  // namespace

std::string RenderMetrics(ServerStatus status, bool starting) {
  status.process = ReadProcessStats();
  const std::string& name = status.cluster.name;
  std::vector<prometheus::MetricFamily> families;
  for (const FigureSection& section : AllFigures()) {
    if (starting && !section.from_start) continue;
    const Labels common = section.cluster ? Labels{{"cluster", name}} : Labels();
    for (const Figure& figure : section.figures) {
      if (figure.name.empty()) continue;
      families.push_back({.name = figure.name,
                          .help = Help(figure.text),
                          .type = TypeOf(figure.type),
                          .metric = {}});
      if (section.cluster && name.empty()) continue;
      AddFigure(figure, status, common, &families.back());
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace freshet
