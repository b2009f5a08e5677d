// Figures of received items, of lateness, and of what is known about pages.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/schedule/host_standing.h"
#include "server/api/figure_makers.h"

namespace freshet {
namespace {

uint64_t SignalsRefusedOtherwise(S s) {
  const uint64_t refused = s.handled.signals_refused;
  return refused - std::min(refused, SumOf(s, &C::signals_unknown_url));
}

uint64_t Fetched(S s) { return SumOf(s, &C::changed) + SumOf(s, &C::unchanged); }

Value SignalsBySource(S s) {
  Value signals = Value::object();
  for (const SourceFigures& source : s.sources) signals[source.name] = source.signals;
  return signals;
}

Getter BySource(double SourceFigures::*figure) {
  return [figure](S s) {
    Value values = Value::object();
    for (const SourceFigures& source : s.sources) {
      if (source.evidence > 0) values[source.name] = source.*figure;
    }
    return values;
  };
}

Value SourceRows(S s) {
  Value sources = Value::array();
  for (const SourceFigures& source : s.sources) {
    const auto known = [&source](double value) {
      return source.evidence > 0 ? Value(value) : Value();
    };
    sources.push_back({{"name", source.name},
                       {"signals", source.signals},
                       {"evidence", source.evidence},
                       {"precision", known(source.precision)},
                       {"precision_low", known(source.precision_low)},
                       {"precision_high", known(source.precision_high)},
                       {"recall", known(source.recall)}});
  }
  return sources;
}

Value SignalWaitSeconds(S s) {
  const WaitCounts waits = SumOf(s, &ShardFigures::waits);
  return {{"bounds", WaitCounts::kBounds}, {"counts", waits.ended}, {"sum", waits.seconds}};
}

Getter HostsThat(HostStanding standing) {
  return [standing](S s) { return SumOf(s, &ShardFigures::hosts)[standing]; };
}

bool HasPages(S s) { return SumOf(s, &BelievedFreshness::pages) > 0; }

double FreshPages(S s) {
  const auto pages = static_cast<double>(SumOf(s, &BelievedFreshness::pages));
  return pages > 0 ? SumOf(s, &BelievedFreshness::fresh_pages) / pages : 0;
}

double FreshImportance(S s) {
  const double importance = SumOf(s, &BelievedFreshness::importance);
  return importance > 0 ? SumOf(s, &BelievedFreshness::fresh_importance) / importance : 0;
}

// The standard error of a mean over all shards. Each shard estimates it from a separate sample.
template <typename Weight>
double ErrorOf(S s, double BelievedFreshness::*error, Weight BelievedFreshness::*weight) {
  double variance = 0;
  double total = 0;
  for (const ShardSnapshot& shard : s.shards) {
    const auto of = static_cast<double>(shard.believed.*weight);
    variance += std::pow(of * shard.believed.*error, 2);
    total += of;
  }
  return total > 0 ? std::sqrt(variance) / total : 0;
}
double PagesError(S s) {
  return ErrorOf(s, &BelievedFreshness::pages_share_error, &BelievedFreshness::pages);
}
double ImportanceError(S s) {
  return ErrorOf(s, &BelievedFreshness::importance_share_error, &BelievedFreshness::importance);
}

// Null = no epoch has ended yet.
Value LastEpoch(S s) {
  return LeastOf(s, &EpochResult::epochs) > 0 ? Value(UnixSeconds(MostOf(s, &EpochResult::ended)))
                                              : Value();
}

}  // namespace

std::vector<Figure> ReceivedFigures() {
  return {
      Counter(
          "freshet_results_total{outcome}",
          {By("changed", Sum(&C::changed)), By("unchanged", Sum(&C::unchanged)),
           By("error", Sum(&C::errors), {"", "", "errors_per_second"}), By("gone", Sum(&C::gone)),
           By("robots_denied", Sum(&C::robots_denied)), By("duplicate", Sum(&C::duplicate_results)),
           By("observed_only", Sum(&C::late_results)),
           By("refused", Of(&HandlerCounters::results_refused))},
          {"results", "ingest.results_"},
          "crawl results: `changed`, `unchanged`, `error`, `gone` (or moved), `robots_denied`, "
          "`duplicate`, `observed_only`, `refused`"),
      Counter("freshet_throttled_results_total", Sum(&C::throttled),
              {"results.throttled", "ingest.results_throttled"},
              "failed crawls with HTTP status 429 or 503. If they increase fast, lower the crawl "
              "rate or raise `politeness.min_delay`"),
      Counter("freshet_signals_total{outcome}",
              {By("applied", Sum(&C::signals_applied),
                  {"signals.applied", "ingest.signals_applied", "signals_per_second"}),
               By("stale", Sum(&C::signals_stale), {"signals.stale", "ingest.signals_stale"}),
               By("duplicate", Sum(&C::signals_duplicate),
                  {"signals.duplicate", "ingest.signals_duplicate"}),
               By("unknown_page", Sum(&C::signals_unknown_url),
                  {"signals.unknown_page", "ingest.signals_unknown_page"}),
               By("refused", SignalsRefusedOtherwise)},
              "change signals: `applied`, `stale`, `duplicate`, `unknown_page`, `refused`"),
      Counter("freshet_source_signals_total{source}", SignalsBySource, {"source_signals"},
              "well-formed signals of each source"),
      Gauge("freshet_source_precision{source}", BySource(&SourceFigures::precision),
            "precision of the source: estimated probability that a signal stands for a change"),
      Gauge("freshet_source_precision_low{source}", BySource(&SourceFigures::precision_low),
            "precision's 95% interval: lower end"),
      Gauge("freshet_source_precision_high{source}", BySource(&SourceFigures::precision_high),
            "precision's 95% interval: upper end"),
      Gauge("freshet_source_recall{source}", BySource(&SourceFigures::recall),
            "recall of the source: estimated share of all changes that the source signals"),
      Gauge("freshet_source_evidence{source}", BySource(&SourceFigures::evidence),
            "number of signals from which precision and recall are estimated; old signals count "
            "less"),
      Counter("freshet_upserts_total{outcome}",
              {By("applied", Of(&HandlerCounters::upserts_applied)),
               By("refused", Of(&HandlerCounters::upserts_refused))},
              {"", "ingest.upserts_"}, "upserted pages: `applied`, `refused`"),
      Gauge(
          "freshet_waiting_events", Sum(&ShardSnapshot::waiting_events),
          {"waiting_events", "", "waiting_events"},
          "events that wait for their shard ([at most 16,384](limits.md#overload) for each shard)"),
      Fact(Of(&HandlerCounters::signals_refused), {"signals.refused", "ingest.signals_refused"}),
      Fact(SourceRows, {"sources"}),
      Tally(Fetched, {"", "", "results_per_second"}),
  };
}

std::vector<Figure> LatenessFigures() {
  return {
      Histogram("freshet_signal_wait_seconds", SignalWaitSeconds,
                "time from a page's first applied signal to the page's next crawl. If more than "
                "16,384 pages of a shard wait, the server measures a sample"),
      Gauge("freshet_signalled_pages", Sum(&ShardFigures::waiting),
            {"lateness.waiting_pages", "", "signalled_pages"},
            "pages with a signal since their last crawl"),
      Gauge("freshet_longest_signal_wait_seconds", Most(&ShardFigures::longest_wait),
            {"lateness.longest_wait_seconds"}, "longest wait of waiting pages"),
      Gauge("freshet_overdue_pages", Sum(&BelievedFreshness::overdue_pages),
            {"lateness.overdue_pages", "", "overdue_pages"},
            "pages that have waited longer than their `max_interval`, without gone pages "
            "(estimated from 16,384 pages of each shard)"),
      Fact([](S) { return WaitCounts::kBounds; }, {"lateness.bounds_seconds"}),
      Fact([](S s) { return SumOf(s, &ShardFigures::waits).ended; }, {"lateness.crawled"}),
      Fact([](S s) { return SumOf(s, &ShardFigures::waits).total(); }, {"lateness.crawled_total"}),
      Fact([](S s) { return SumOf(s, &ShardFigures::waits).seconds; }, {"lateness.seconds_total"}),
  };
}

std::vector<Figure> PagesFigures() {
  return {
      Gauge("freshet_pages", Sum(&C::pages), {"pages", "pages.pages", "pages"},
            "pages that the server knows"),
      Gauge("freshet_gone_pages", Sum(&C::gone_pages), {"gone_pages", "pages.gone_pages"},
            "pages that were gone or had moved at their last crawl"),
      Gauge("freshet_hosts", Sum(&C::hosts), {"hosts", "pages.hosts", "hosts"},
            "hosts with pages, settings, or a pause"),
      Gauge("freshet_hosts_by_state{state}",
            {By("free", HostsThat(HostStanding::kFree)),
             By("blocked", HostsThat(HostStanding::kBlocked)),
             By("in_flight", HostsThat(HostStanding::kInFlight)),
             By("delay", HostsThat(HostStanding::kDelayed)),
             By("hours", HostsThat(HostStanding::kHours)),
             By("group", HostsThat(HostStanding::kGroup))},
            {"host_states"},
            "hosts with pages, by what makes the host's pages wait: nothing (`free`), a block "
            "(`blocked`), pages at workers (`in_flight`), the minimum delay or maximum rate "
            "(`delay`), the permitted hours (`hours`), or the limits of a group (`group`)"),
      Gauge("freshet_importance", Sum(&BelievedFreshness::importance),
            {"importance", "pages.importance"},
            "sum of the importance of all pages, except gone pages"),
      Gauge("freshet_believed_freshness{weight}",
            {By("pages", FreshPages,
                {"believed_freshness", "pages.believed_freshness", "", Merge::kApart}),
             By("importance", FreshImportance,
                {"weighted_believed_freshness", "pages.weighted_believed_freshness", "",
                 Merge::kApart})},
            "estimated share of pages that are fresh; gone pages do not count. `weight=\"pages\"` "
            "counts all pages equally, `weight=\"importance\"` counts each page by its importance"),
      Fact(FreshPages, {"freshness.pages"}),
      Fact(FreshImportance, {"freshness.importance"}),
      Fact([](S s) { return HasPages(s) ? Value(FreshPages(s)) : Value(); },
           {"", "", "believed_freshness"}),
      Fact([](S s) { return HasPages(s) ? Value(FreshImportance(s)) : Value(); },
           {"", "", "weighted_believed_freshness"}),
      Fact(PagesError, {"freshness.pages_error"}),
      Fact(ImportanceError, {"freshness.importance_error"}),
  };
}

std::vector<Figure> LearnedFigures() {
  return {
      Counter("freshet_epochs_total", Least(&EpochResult::epochs), {"epochs"},
              "completed epochs (learning passes)"),
      Gauge("freshet_epoch_seconds", Most(&EpochResult::took), {"last_epoch.seconds"},
            "duration of the last epoch"),
      Gauge("freshet_epoch_running", Most(&ShardSnapshot::epoch_running), {"epoch_running"},
            "1 while an epoch runs"),
      Gauge("freshet_last_epoch_timestamp_seconds", LastEpoch,
            {"last_epoch.ended", "pages.last_epoch_time", "", Merge::kApart},
            "Unix time when the last epoch ended"),
      Gauge("freshet_epoch_interval_seconds", Of(&ServerStatus::epoch_interval),
            {"last_epoch.interval_seconds"}, "`epochs.interval`; 0 if epochs run only on request"),
      Gauge("freshet_sources_quarantined", Sum(&C::quarantined_sources), {"quarantined_sources"},
            "pairs of source and host for which the source is in "
            "[quarantine](operations.md#quarantine)"),
      Counter("freshet_quarantines_total", Sum(&C::quarantines), "quarantines"),
      Gauge("freshet_site_models", Sum(&C::site_models),
            "learned models of sites: in each shard one for all hosts, and up to 4,096 for single "
            "hosts"),
      Gauge("freshet_site_model_bytes", Sum(&C::site_model_bytes), "memory of the site models"),
      Fact(Least(&EpochResult::number), {"", "pages.epoch", "", Merge::kApart}),
      Fact(Sum(&EpochResult::pages), {"last_epoch.pages"}),
      Fact(
          [](S s) {
            return LastEpoch(s).is_null() ? Value()
                                          : Value(MostOf(s, &EpochResult::took).seconds());
          },
          {"", "pages.last_epoch_duration", "", Merge::kApart}),
  };
}

}  // namespace freshet
