#include "core/estimate/host_trust.h"

#include <tuple>

namespace freshet {
namespace {

// By what hosts and sources are ordered, the worst least: of one shard, and then of all.
auto Standing(bool quarantined, double precision_high, const std::string& host,
              const uint8_t& source) {
  return std::tuple(!quarantined, precision_high, std::tie(host, source));
}
auto StandingOf(const HostTrust& trust) {
  return Standing(trust.lately.quarantined(), trust.precision_high, trust.host, trust.source);
}

}  // namespace

bool IsWorse(const HostTrust& a, const HostTrust& b) { return StandingOf(a) < StandingOf(b); }

std::vector<HostTrust> WorstHosts(const SiteTable& sites, const Quarantine& quarantine,
                                  const std::string& host, SourceSet sources, size_t max) {
  // Only what is handed out is copied: a shard waits for this.
  struct Row {
    const std::string* host;
    uint8_t source;
    double signals = 0;
    double truth = 0;
    double recall = 0;
    const SourceStanding* lately = nullptr;
    double precision_high = 0;
  };
  std::vector<Row> rows;
  const auto add = [&](const std::string& of, uint8_t source, double signals,
                       double truth) -> Row& {
    if (rows.empty() || rows.back().host != &of || rows.back().source != source) {
      rows.push_back({.host = &of, .source = source, .lately = quarantine.Find(of, source, {})});
    }
    rows.back().signals += signals;
    rows.back().truth += truth;
    return rows.back();
  };
  const auto wanted = [&](const std::string& of, uint8_t source) {
    return !of.empty() && (host.empty() || of == host) && sources.test(source);
  };
  sites.ForEach([&](const std::string& of, const SiteModel& site) {
    for (const ClassModel& model : site.classes()) {
      const uint8_t source = model.source_class.source();
      if (!wanted(of, source) || !(model.signals > 0)) continue;
      add(of, source, model.signals, model.truth).recall += model.recall;
    }
  });
  for (const SourceStanding* standing : quarantine.All()) {
    if (!wanted(standing->host, standing->source)) continue;
    const uint16_t number = sites.NumberOf(standing->host);
    const auto& classes = sites.model(number).classes();
    const bool has_model =
        number != 0 && std::any_of(classes.begin(), classes.end(), [&](const ClassModel& model) {
          return model.source_class.source() == standing->source && model.signals > 0;
        });
    if (!has_model) add(standing->host, standing->source, standing->signals, standing->proved);
  }
  const auto fill = [](const Row& row, HostTrust* out) {
    out->signals = row.signals;
    SetPrecision(row.signals, row.truth, out);
  };
  HostTrust scratch;
  for (Row& row : rows) {
    fill(row, &scratch);
    row.precision_high = scratch.precision_high;
  }
  const auto order = [](const Row& row) {
    return Standing(row.lately != nullptr && row.lately->quarantined(), row.precision_high,
                    *row.host, row.source);
  };
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(max, rows.size()));
  std::partial_sort(rows.begin(), end, rows.end(),
                    [&](const Row& a, const Row& b) { return order(a) < order(b); });
  std::vector<HostTrust> worst;
  worst.reserve(static_cast<size_t>(end - rows.begin()));
  for (auto row = rows.begin(); row != end; ++row) {
    HostTrust& out = worst.emplace_back();
    out.host = *row->host;
    out.source = row->source;
    out.recall = std::min(1.0, row->recall);
    if (row->lately != nullptr) out.lately = *row->lately;
    fill(*row, &out);
  }
  return worst;
}

}  // namespace freshet
