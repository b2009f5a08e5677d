#include "tools/cli/top_frame.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <utility>

#include "tools/cli/display.h"
#include "tools/cli/sparkline.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kMaxMoments = 240;
// The number of cells that a curve's name and value take next to the curve.
constexpr size_t kBesideCurve = 34;

uint64_t AllResults(const v1::IngestStatistics& s) {
  return s.results_changed() + s.results_unchanged() + s.results_error() + s.results_gone();
}

std::string RateText(const std::optional<double>& rate) {
  return rate ? fmt::format("{:.4g}", *rate) : "-";
}

void AppendLines(const std::string& text, std::vector<std::string>& lines) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
}

// Whether the same divisions of a fleet are missing in both samples.
bool CountTheSame(const v1::GetStatisticsResponse& a, const v1::GetStatisticsResponse& b) {
  return std::equal(
      a.unanswered().begin(), a.unanswered().end(), b.unanswered().begin(), b.unanswered().end(),
      [](const auto& one, const auto& other) { return one.division() == other.division(); });
}

}  // namespace

std::string FitLine(const std::string& text, size_t columns) {
  return std::string(Fitting(text, columns));
}

std::optional<TopFrames::Rates> TopFrames::RatesSince(const v1::GetStatisticsResponse& before,
                                                      const v1::GetStatisticsResponse& now) const {
  const double seconds = static_cast<double>(TimeUtil::DurationToMilliseconds(
                             now.server().server_time() - before.server().server_time())) /
                         1e3;
  if (seconds <= 0 || !CountTheSame(before, now)) return std::nullopt;
  const auto rate = [seconds](uint64_t was, uint64_t is) {
    return is < was ? 0 : static_cast<double>(is - was) / seconds;
  };
  const v1::IngestStatistics& a = before.ingest();
  const v1::IngestStatistics& b = now.ingest();
  return Rates{rate(before.schedule().assignments(), now.schedule().assignments()),
               rate(AllResults(a), AllResults(b)), rate(a.results_changed(), b.results_changed()),
               rate(a.results_error(), b.results_error()),
               rate(a.signals_applied(), b.signals_applied())};
}

void TopFrames::Add(TopSample sample) {
  const v1::GetStatisticsResponse& now = sample.statistics;
  Moment moment{now.schedule().price(), now.pages().weighted_believed_freshness(), std::nullopt};
  const bool same_start = TimeUtil::TimestampToNanoseconds(now.server().start_time()) ==
                          TimeUtil::TimestampToNanoseconds(last_.statistics.server().start_time());
  if (!same_start) moments_.clear();
  if (!moments_.empty()) moment.rates = RatesSince(last_.statistics, now);
  moments_.push_back(moment);
  if (moments_.size() > kMaxMoments) moments_.pop_front();
  last_ = std::move(sample);
}

std::string TopFrames::Curve(const std::vector<double>& values, size_t width) const {
  const std::vector<double> shown(
      values.end() - static_cast<int64_t>(std::min(width, values.size())), values.end());
  double high = 0;
  for (const double value : shown) {
    if (std::isfinite(value)) high = std::max(high, value);
  }
  return Sparkline(shown, 0, high, utf8_);
}

void TopFrames::AddState(std::vector<std::string>& lines) const {
  const v1::ServerStatistics& server = last_.statistics.server();
  const v1::PageStatistics& pages = last_.statistics.pages();
  const v1::ScheduleStatistics& schedule = last_.statistics.schedule();
  const v1::StoreStatistics& store = last_.statistics.store();
  lines.push_back(fmt::format("freshet {}  {}  up {}  policy {}", ShowText(server.version()),
                              ShowTime(server.server_time()),
                              ShowDuration(server.server_time() - server.start_time()),
                              ShowText(schedule.policy())));
  if (schedule.paused()) lines.push_back("PAUSED  " + ShowText(schedule.pause_reason()));
  if (!store.write_error().empty()) {
    lines.push_back("WRITES REFUSED  " + ShowText(store.write_error()));
  }
  for (const v1::UnansweredDivision& missing : last_.statistics.unanswered()) {
    lines.push_back(fmt::format("NOT COUNTED  division {}: {}", missing.division(),
                                ShowText(missing.reason())));
  }
  lines.push_back(fmt::format("pages {}  gone {}  hosts {}  disk {}", ShowCount(pages.pages()),
                              ShowCount(pages.gone_pages()), ShowCount(pages.hosts()),
                              ShowBytes(store.disk_bytes())));
  lines.push_back(
      fmt::format("workers {} ({} at their allowance)  credit {}  leases {}  expired {}",
                  ShowCount(server.workers()), ShowCount(server.workers_at_allowance()),
                  ShowCount(server.worker_credit()), ShowCount(schedule.open_leases()),
                  ShowCount(schedule.expired_leases())));
  lines.push_back(fmt::format(
      "unused ticks: no credit {}  no page {}  late {}", ShowCount(schedule.ticks_without_credit()),
      ShowCount(schedule.ticks_without_page()), ShowCount(schedule.ticks_late())));
}

void TopFrames::AddCurves(ScreenSize screen, std::vector<std::string>& lines) const {
  const size_t width = screen.columns > kBesideCurve ? screen.columns - kBesideCurve : 0;
  const auto add = [&](std::string_view name, const std::string& value, auto get) {
    std::vector<double> values;
    for (const Moment& moment : moments_) values.push_back(get(moment));
    lines.push_back(fmt::format("{:<11}{:<22} {}", name, value, Curve(values, width)));
  };
  const auto add_rate = [&](std::string_view name, double Rates::*rate, const std::string& more) {
    const Moment& now = moments_.back();
    const std::optional<double> value =
        now.rates ? std::optional<double>((*now.rates).*rate) : std::nullopt;
    add(name, RateText(value) + more + "/s", [rate](const Moment& moment) {
      return moment.rates ? (*moment.rates).*rate : std::nan("");
    });
  };
  const v1::GetStatisticsResponse& now = last_.statistics;
  lines.emplace_back();
  add_rate("crawls", &Rates::assignments,
           " of " + ShowNumber(now.schedule().crawl_rate_per_second()));
  add_rate("results", &Rates::results, "");
  add_rate("changes", &Rates::changes, "");
  add_rate("errors", &Rates::errors, "");
  add_rate("signals", &Rates::signals, "");
  add("price", ShowNumber(now.schedule().price()), [](const Moment& m) { return m.price; });
  add("fresh",
      fmt::format("{} ({} plain)", ShowShare(now.pages().weighted_believed_freshness()),
                  ShowShare(now.pages().believed_freshness())),
      [](const Moment& m) { return m.freshness; });
}

void TopFrames::AddTables(ScreenSize screen, std::vector<std::string>& lines) const {
  std::ostringstream text;
  if (!last_.crawls.empty()) {
    text << '\n';
    Table table(text,
                {{"pages", Table::Align::kRight},
                 {"hosts", Table::Align::kRight},
                 {"out", Table::Align::kRight},
                 {"crawls", Table::Align::kRight},
                 {"changes", Table::Align::kRight},
                 {"errors", Table::Align::kRight},
                 {"crawl id"}},
                screen.columns);
    for (const v1::Crawl& crawl : last_.crawls) {
      table.Add({ShowCount(crawl.pages()), ShowCount(crawl.hosts()), ShowCount(crawl.out()),
                 ShowCount(crawl.crawls()), ShowCount(crawl.changes()), ShowCount(crawl.errors()),
                 ShowText(crawl.crawl_id())});
    }
    table.Flush();
  }
  if (!last_.sources.empty()) {
    text << '\n';
    Table table(text, {{"signals", Table::Align::kRight}, {"source"}}, screen.columns);
    for (const v1::Source& source : last_.sources) {
      table.Add({ShowCount(source.signals()), ShowText(source.source())});
    }
    table.Flush();
  }
  if (!last_.quarantined.empty()) text << '\n';
  for (const v1::HostTrust& trust : last_.quarantined) {
    text << fmt::format("in quarantine since {}: {} at {}\n", ShowTime(trust.quarantined_since()),
                        ShowText(trust.source()), ShowText(trust.host()));
  }
  AppendLines(text.str(), lines);
}

std::vector<std::string> TopFrames::Lines(ScreenSize screen) const {
  std::vector<std::string> lines;
  AddState(lines);
  AddCurves(screen, lines);
  AddTables(screen, lines);
  if (lines.size() > screen.rows) lines.resize(screen.rows);
  for (std::string& line : lines) line = FitLine(line, screen.columns);
  return lines;
}

}  // namespace freshet::cli
