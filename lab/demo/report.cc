#include "lab/demo/report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "fmt/format.h"
#include "lab/common/rounded.h"
#include "nlohmann/json.hpp"

namespace freshet::demo {
namespace {

constexpr size_t kPeriods = 4;

std::string Bold(const Setting& setting, const std::string& text) {
  return setting.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string DateOf(const Setting& setting, int64_t wall_micros) {
  return FormatDate(setting.timeline.ToHistorySeconds(wall_micros));
}

// Returns the share of the history's wall time that has passed.
double Progress(const Setting& setting, int64_t wall_micros) {
  const Timeline& timeline = setting.timeline;
  const auto length = static_cast<double>(timeline.wall_end_micros() - timeline.wall_begin_micros);
  return std::clamp(static_cast<double>(wall_micros - timeline.wall_begin_micros) / length, 0.0,
                    1.0);
}

std::string ProgressBar(double share) {
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(std::lround(share * kWidth));
  return "[" + std::string(filled, '=') + std::string(kWidth - filled, ' ') + "]";
}

// Formats the stale share, for example "2.7 %"; a dash = unknown.
std::string Stale(const std::optional<Freshness>& freshness, double Freshness::*part) {
  return freshness ? fmt::format("{:.1f} %", 100 * (1 - (*freshness).*part)) : "-";
}

std::string StaleRow(const std::string& name, const std::optional<Freshness>& freshness) {
  return fmt::format("  {:<34}{:>11}{:>13}", name, Stale(freshness, &Freshness::weighted),
                     Stale(freshness, &Freshness::plain));
}

// Makes the row of a rule, which ends with its staleness as a multiple of Freshet's.
std::string RuleRow(const std::string& name, const Freshness& rule, const Freshness& freshet) {
  std::string row = StaleRow(name, rule);
  const double stale = 1 - freshet.weighted;
  if (stale > 0) row += fmt::format("{:>12}", fmt::format("{:.1f} x", (1 - rule.weighted) / stale));
  return row;
}

std::string BarRow(const std::string& name, double stale, double most) {
  constexpr int kWidth = 40;
  const auto filled = most > 0 ? static_cast<size_t>(std::lround(kWidth * stale / most)) : 0;
  return fmt::format("  {:<24}{} {:.1f} %\n", name, std::string(filled, '#'), 100 * stale);
}

// Means over the time between two samples.
struct Means {
  Freshness truth;
  std::optional<Freshness> believed;
  Freshness uniform;
  Freshness pings_first;
};

Means MeansBetween(const std::vector<Sample>& samples, size_t first, size_t last) {
  Means means{
      .truth = (samples[last].truth.sum - samples[first].truth.sum).Mean(),
      .uniform = (samples[last].uniform.sum - samples[first].uniform.sum).Mean(),
      .pings_first = (samples[last].pings_first.sum - samples[first].pings_first.sum).Mean()};
  // The server's estimate is known only at the samples. Each sample stands for the time since the
  // previous one.
  FreshnessSum believed;
  for (size_t i = first + 1; i <= last; ++i) {
    if (!samples[i].believed) continue;
    const int64_t span = samples[i].truth.time_micros - samples[i - 1].truth.time_micros;
    believed.weighted_micros += samples[i].believed->weighted * static_cast<double>(span);
    believed.plain_micros += samples[i].believed->plain * static_cast<double>(span);
    believed.micros += span;
  }
  if (believed.micros > 0) means.believed = believed.Mean();
  return means;
}

std::string Bars(const Means& means) {
  const double freshet = 1 - means.truth.weighted;
  const double announced = 1 - means.pings_first.weighted;
  const double uniform = 1 - means.uniform.weighted;
  const double most = std::max({freshet, announced, uniform});
  return BarRow("Freshet", freshet, most) + BarRow("announced pages first", announced, most) +
         BarRow("uniform", uniform, most);
}

// Returns the position of the last sample that was not taken after this share of the time.
size_t SampleAt(const std::vector<Sample>& samples, double share) {
  const int64_t first = samples.front().truth.time_micros;
  const int64_t span = samples.back().truth.time_micros - first;
  const int64_t time = first + static_cast<int64_t>(share * static_cast<double>(span));
  const auto after = std::upper_bound(
      samples.begin(), samples.end(), time,
      [](int64_t t, const Sample& sample) { return t < sample.truth.time_micros; });
  return static_cast<size_t>(std::distance(samples.begin(), after)) - 1;
}

std::string PeriodRows(const Setting& setting, const std::vector<Sample>& samples) {
  std::string text;
  size_t first = 0;
  for (size_t period = 1; period <= kPeriods; ++period) {
    const size_t last = period == kPeriods
                            ? samples.size() - 1
                            : SampleAt(samples, static_cast<double>(period) / kPeriods);
    if (last <= first) continue;
    const Means means = MeansBetween(samples, first, last);
    const TruthSnapshot& from = samples[first].truth;
    const TruthSnapshot& to = samples[last].truth;
    text += fmt::format(
        "  {} to {}{:>12}{:>11}{:>14}{:>11}{:>10}\n", DateOf(setting, from.time_micros),
        DateOf(setting, to.time_micros), Stale(means.truth, &Freshness::weighted),
        Stale(means.believed, &Freshness::weighted), Stale(means.pings_first, &Freshness::weighted),
        Stale(means.uniform, &Freshness::weighted),
        fmt::format("{:.1f} %", 100 * PaceBetween(from, to).changed_share));
    first = last;
  }
  return text;
}

uint64_t UnusedBetween(const UnusedTicks& earlier, const UnusedTicks& later) {
  return later.late + later.credit + later.page - earlier.late - earlier.credit - earlier.page;
}

std::string UnusedLine(const UnusedTicks& earlier, const UnusedTicks& later) {
  const uint64_t late = later.late - earlier.late;
  const uint64_t credit = later.credit - earlier.credit;
  const uint64_t page = later.page - earlier.page;
  if (UnusedBetween(earlier, later) == 0) return "";
  return fmt::format(
      "  Ticks that went unused: {} for which the server had nothing ready in time, {} for which\n"
      "    no worker waited, {} without a page that might be crawled.\n",
      Grouped(late), Grouped(credit), Grouped(page));
}

}  // namespace

std::string Grouped(uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

CrawlPace PaceBetween(const TruthSnapshot& earlier, const TruthSnapshot& later) {
  CrawlPace pace;
  const auto crawls = static_cast<double>(later.crawls - earlier.crawls);
  if (later.time_micros > earlier.time_micros) {
    const auto span = static_cast<double>(later.time_micros - earlier.time_micros);
    pace.crawls_per_second = crawls * kMicrosPerSecond / span;
  }
  if (crawls > 0) {
    pace.changed_share = static_cast<double>(later.changed - earlier.changed) / crawls;
  }
  return pace;
}

std::vector<std::string> TableLines(const Setting& setting, const Sample& earlier,
                                    const Sample& now) {
  const CrawlPace pace = PaceBetween(earlier.truth, now.truth);
  const double progress = Progress(setting, now.truth.time_micros);
  const double day_seconds = setting.timeline.wall_micros_per_day / kMicrosPerSecond;
  return {
      fmt::format("  {}   {}   {} {:.0f} %", setting.title,
                  Bold(setting, DateOf(setting, now.truth.time_micros)), ProgressBar(progress),
                  100 * progress),
      "",
      fmt::format("  {:<34}{:>11}{:>13}", "stale share", "of requests", "of pages"),
      Bold(setting, StaleRow("Freshet, in truth", now.truth.current)),
      StaleRow("Freshet, as it believes", now.believed),
      StaleRow("announced pages first", now.pings_first.current),
      StaleRow("all pages in turn (uniform)", now.uniform.current),
      "",
      fmt::format("  {:<34}{:>11}", "pages", Grouped(now.truth.pages)),
      fmt::format("  {:<34}{:>11}   {:.1f} a history day", "crawls a second",
                  Grouped(static_cast<uint64_t>(std::lround(pace.crawls_per_second))),
                  pace.crawls_per_second * day_seconds),
      fmt::format("  {:<34}{:>9.1f} %   of {} crawls", "found a change", 100 * pace.changed_share,
                  Grouped(now.truth.crawls)),
      fmt::format("  {:<34}{:>11}", "signals applied", Grouped(now.signals)),
      fmt::format("  {:<34}{:>11.4g}   importance x seconds", "price of a crawl", now.price),
  };
}

std::string StatusLine(const Setting& setting, const Sample& earlier, const Sample& now) {
  const CrawlPace pace = PaceBetween(earlier.truth, now.truth);
  return fmt::format(
      "{}  {:>6.0f} crawls/s  {:>5.1f} % changed  stale requests {:>7} (believed {:>7}, announced "
      "first {:>7}, uniform {:>7})  stale pages {:>7} (believed {:>7})  {} signals  price {:.3g}",
      DateOf(setting, now.truth.time_micros), pace.crawls_per_second, 100 * pace.changed_share,
      Stale(now.truth.current, &Freshness::weighted), Stale(now.believed, &Freshness::weighted),
      Stale(now.pings_first.current, &Freshness::weighted),
      Stale(now.uniform.current, &Freshness::weighted), Stale(now.truth.current, &Freshness::plain),
      Stale(now.believed, &Freshness::plain), Grouped(now.signals), now.price);
}

std::string AnnotationJson(const Setting& setting, const Sample& earlier, const Sample& now) {
  const CrawlPace pace = PaceBetween(earlier.truth, now.truth);
  const double days =
      static_cast<double>(setting.timeline.ToHistorySeconds(now.truth.time_micros)) / kDaySeconds;
  const nlohmann::ordered_json figures = {
      {"true_freshness_weighted", Rounded(now.truth.current.weighted, 6)},
      {"true_freshness", Rounded(now.truth.current.plain, 6)},
      {"pings_first_freshness_weighted", Rounded(now.pings_first.current.weighted, 6)},
      {"pings_first_freshness", Rounded(now.pings_first.current.plain, 6)},
      {"uniform_freshness_weighted", Rounded(now.uniform.current.weighted, 6)},
      {"uniform_freshness", Rounded(now.uniform.current.plain, 6)},
      {"changed_share", Rounded(pace.changed_share, 6)},
      {"fetched_per_second", Rounded(pace.crawls_per_second, 3)},
      {"history_year", Rounded(1970 + days / 365.2425, 3)}};
  return figures.dump();
}

std::string Summary(const Setting& setting, const std::vector<Sample>& samples) {
  const Sample& first = samples.front();
  const Sample& last = samples.back();
  const uint64_t crawls = last.truth.crawls - first.truth.crawls;
  const CrawlPace pace = PaceBetween(first.truth, last.truth);
  const Means means = MeansBetween(samples, 0, samples.size() - 1);
  std::string text = fmt::format(
      "Played {} from {} to {} in {:.1f} s: {} pages, {} signals.\n"
      "{} crawls of {} that {:.0f} a second allow, {:.1f} % of them found a change.\n\n",
      setting.title, DateOf(setting, first.truth.time_micros),
      DateOf(setting, last.truth.time_micros),
      static_cast<double>(last.truth.time_micros - first.truth.time_micros) / kMicrosPerSecond,
      Grouped(last.truth.pages), Grouped(last.signals), Grouped(crawls),
      Grouped(crawls + UnusedBetween(first.unused, last.unused)), setting.crawl_rate_per_second,
      100 * pace.changed_share);
  text += fmt::format("  {:<34}{:>11}{:>13}{:>12}\n", "stale share", "of requests", "of pages",
                      "to Freshet");
  text += StaleRow("Freshet, in truth", means.truth) + "\n";
  text += StaleRow("Freshet, as it believes", means.believed) + "\n";
  text += RuleRow("announced pages first *", means.pings_first, means.truth) + "\n";
  text += RuleRow("all pages in turn (uniform) *", means.uniform, means.truth) + "\n\n";
  text += Bars(means) + "\n";
  text += fmt::format("  {:<24}{:>12}{:>11}{:>14}{:>11}{:>10}\n", "of requests, by period", "truth",
                      "belief", "announced *", "uniform *", "changed");
  text += PeriodRows(setting, samples);
  text +=
      "\n  * played beside freshetd: the same crawls at the same times, by the same polls, known "
      "when\n"
      "    freshetd has acknowledged them, each chosen as long before its fetch as freshetd does. "
      "The\n"
      "    announced page of highest importance goes first, else the page that waits longest.\n"
      "  Changed: the share of crawls that found a change. Requests: pages by their importance.\n";
  text += UnusedLine(first.unused, last.unused);
  return text;
}

}  // namespace freshet::demo
