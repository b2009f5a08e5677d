#include "lab/sim/estimate_default.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/id_limits.h"
#include "core/schedule/explanation.h"
#include "lab/common/memory_shard.h"

namespace freshet {
namespace {

constexpr double kDaySeconds = 86400;
// Rates, trust and hazard depend on one another. They settle within a few epochs.
constexpr int kEpochs = 4;
constexpr const char* kHost = "site.invalid";
// The present time, which is late enough for the longest history to start after the Unix epoch.
constexpr Instant kNow = Instant::FromUnixSeconds(int64_t{40'000} * 365 * 86'400);

PageKey KeyOf(size_t index) { return {"DEFAULT", fmt::format("https://{}/{}", kHost, index)}; }

Status Check(const SitePage& page) {
  const Observations& seen = page.observations;
  if (seen.sources() > limits::kMaxSources) {
    return InvalidArgument("{}: has {} sources, at most {} are allowed", page.id, seen.sources(),
                           limits::kMaxSources);
  }
  const double most_days = static_cast<double>(kNow.micros()) / 2 / (kDaySeconds * 1e6);
  if (seen.total_elapsed() > most_days) {
    return InvalidArgument("{}: the history covers {} days; at most {:.0f} are allowed", page.id,
                           seen.total_elapsed(), most_days);
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t k = 0; k < seen.sources(); ++k) {
      const double n = seen.signals(i, k);
      if (n != std::floor(n) || n > 1e6) {
        return InvalidArgument("{}: {} is not a whole number of signals up to a million", page.id,
                               n);
      }
    }
  }
  return absl::OkStatus();
}

// Plays one interval: its signals, then the crawl that ended the interval.
void PlayInterval(const SitePage& page, const PageKey& key, size_t i, Instant start, Instant end,
                  MemoryShard& shard) {
  const Observations& seen = page.observations;
  for (size_t k = 0; k < seen.sources(); ++k) {
    const auto n = static_cast<int>(seen.signals(i, k));
    for (int j = 0; j < n; ++j) {
      const double share = (j + 0.5) / n;
      SignalChange signal{.key = key, .source = static_cast<uint8_t>(k)};
      shard.Apply(signal, start + Duration::FromSeconds((end - start).seconds() * share));
    }
  }
  ReportCrawl report{.key = key, .fetched = end};
  report.outcome = seen.changed(i) ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
  shard.Apply(report, end);
}

void Play(const SitePage& page, const PageKey& key, MemoryShard& shard) {
  const Observations& seen = page.observations;
  double days_left = seen.total_elapsed();
  const auto instant = [&] { return kNow - Duration::FromSeconds(days_left * kDaySeconds); };
  UpsertPage upsert{.key = key, .host = kHost};
  upsert.last_crawl = instant();
  shard.Apply(upsert, instant());
  for (size_t i = 0; i < seen.size(); ++i) {
    const Instant start = instant();
    days_left = i + 1 == seen.size() ? 0 : days_left - seen.elapsed(i);
    PlayInterval(page, key, i, start, instant(), shard);
  }
}

PageEstimate PerDay(PageEstimate estimate) {
  for (double* rate : {&estimate.rates.change_rate, &estimate.rates.unsignalled_rate,
                       &estimate.rates.signal_rate, &estimate.rates.staleness_rate}) {
    *rate *= kDaySeconds;
  }
  return estimate;
}

}  // namespace

StatusOr<std::vector<PageEstimate>> EstimateSite(const std::vector<SitePage>& pages) {
  for (const SitePage& page : pages) RETURN_IF_ERROR(Check(page));
  ShardOptions options;
  options.estimator.kind = EstimatorKind::kDefault;
  MemoryShard shard(options);
  for (size_t i = 0; i < pages.size(); ++i) Play(pages[i], KeyOf(i), shard);
  for (int epoch = 0; epoch < kEpochs; ++epoch) shard.RunEpoch(kNow);
  std::vector<PageEstimate> estimates;
  estimates.reserve(pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    estimates.push_back(PerDay(shard.state().Explain(*shard.Find(KeyOf(i)), kNow).estimate));
  }
  return estimates;
}

}  // namespace freshet
