#include "lab/demo/play.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lab/common/history.h"
#include "lab/demo/connection.h"
#include "lab/demo/console_client.h"
#include "lab/demo/feeder.h"
#include "lab/demo/fetch_worker.h"
#include "lab/demo/prepare.h"
#include "lab/demo/report.h"
#include "lab/demo/rule_schedule.h"
#include "lab/demo/stop.h"

namespace freshet::demo {
namespace {

constexpr int64_t kConnectMicros = 5'000'000;
constexpr int64_t kSecondMicros = 1'000'000;
constexpr int kFramesPerSecond = 4;  // in a terminal
constexpr int64_t kOrderlyEndMicros = 2'000'000;
// The server's dispatcher leases a page ahead of its tick, by at most the look-ahead and at least
// this share of the look-ahead. The rules choose pages with the shorter lead, so they have more
// information than the server.
constexpr double kLeastOfLookAhead = 0.75;
constexpr int64_t kLeastLookAheadMicros = 20'000;

// Makes the history of a new run begin now. Returns true if the run had begun before.
StatusOr<bool> Begin(const std::string& path, SavedRun* run, int64_t now_micros) {
  if (run->timeline.wall_begin_micros != 0) return true;
  run->timeline.wall_begin_micros = now_micros;
  run->polled_until_micros = now_micros;
  RETURN_IF_ERROR(WriteSavedRun(path, *run));
  return false;
}

// Returns the last crawls: pages that exist from the start count as crawled at the start, unless
// the server says otherwise.
LastCrawls StartingCrawls(const ReplayedHistory& replayed, const KnownPages& pages) {
  LastCrawls crawls = pages.last_crawls;
  const int64_t begin = replayed.timeline().wall_begin_micros;
  for (uint32_t page = 0; page < crawls.size(); ++page) {
    if (!pages.known[page] && replayed.pages()[page].born_micros <= begin) crawls[page] = begin;
  }
  return crawls;
}

// Returns the freshness that the server estimates; nullopt = it has not computed it yet.
std::optional<Freshness> Believed(const v1::PageStatistics& pages) {
  if (pages.weighted_believed_freshness() == 0 && pages.believed_freshness() == 0) {
    return std::nullopt;
  }
  return Freshness{.weighted = pages.weighted_believed_freshness(),
                   .plain = pages.believed_freshness()};
}

UnusedTicks Unused(const v1::ScheduleStatistics& schedule) {
  return {.late = schedule.ticks_late(),
          .credit = schedule.ticks_without_credit(),
          .page = schedule.ticks_without_page()};
}

// The simple rules whose results are shown next to the server's.
struct Rules {
  Rules(const ReplayedHistory& replayed, const LastCrawls& crawls, int64_t start)
      : uniform("uniform", replayed, crawls, start),
        pings_first("pings_first", replayed, crawls, start) {}
  RuleSchedule uniform;
  RuleSchedule pings_first;
};

// The threads of one replay. Owner thread only.
class Crew {
 public:
  Crew(Connection& connection, const ReplayedHistory& replayed, Truth& truth, const SavedRun& run,
       const PlayOptions& options, Stop& stop)
      : now_(options.now),
        stop_(stop),
        feeder_(connection, replayed, run.polled_until_micros, options.now, stop) {
    for (int i = 1; i <= options.workers; ++i) {
      workers_.push_back(std::make_unique<FetchWorker>(fmt::format("fetcher-{}", i), connection,
                                                       replayed, truth, stop));
    }
  }

  void Start(const std::vector<bool>& known) {
    for (const auto& worker : workers_) {
      threads_.push_back(std::async(std::launch::async, [&worker = *worker] { worker.Run(); }));
    }
    threads_.push_back(std::async(std::launch::async, [this, known] { feeder_.Run(known); }));
  }

  // Lets all threads finish their work, but only for a limited time.
  void Finish() {
    stop_.Request();
    const int64_t deadline = now_() + (stop_.status().ok() ? kOrderlyEndMicros : 0);
    for (const auto& thread : threads_) {
      thread.wait_for(std::chrono::microseconds(std::max<int64_t>(0, deadline - now_())));
    }
    for (const auto& worker : workers_) worker->Cancel();
    feeder_.Cancel();
    for (const auto& thread : threads_) thread.wait();
  }

  [[nodiscard]] Feeder& feeder() { return feeder_; }

 private:
  const NowMicros now_;
  Stop& stop_;
  Feeder feeder_;
  std::vector<std::unique_ptr<FetchWorker>> workers_;
  std::vector<std::future<void>> threads_;
};

// Draws on standard output. Owner thread only.
class Screen {
 public:
  Screen(Setting setting, bool terminal) : setting_(std::move(setting)), terminal_(terminal) {}

  void Draw(const Sample& earlier, const Sample& now) {
    if (!terminal_) {
      fmt::print("{}\n", StatusLine(setting_, earlier, now));
    } else {
      const std::vector<std::string> lines = TableLines(setting_, earlier, now);
      if (drawn_ > 0) fmt::print("\x1b[{}A", drawn_);
      for (const std::string& line : lines) fmt::print("\x1b[2K{}\n", line);
      drawn_ = lines.size();
    }
    std::fflush(stdout);
  }

 private:
  const Setting setting_;
  const bool terminal_;
  size_t drawn_ = 0;
};

// Takes samples until the history ends, shows them, and updates the file of the run. Owner thread
// only.
class Watch {
 public:
  Watch(Connection& connection, Truth& truth, Rules& rules, Feeder& feeder, Setting setting,
        const PlayOptions& options)
      : connection_(connection),
        truth_(truth),
        rules_(rules),
        feeder_(feeder),
        setting_(setting),
        screen_(std::move(setting), options.terminal),
        console_(options.http, options.security),
        per_second_(options.terminal ? kFramesPerSecond : 1) {}

  // Takes and shows a sample. An error ends the replay.
  Status Tick() {
    ASSIGN_OR_RETURN(const v1::GetStatisticsResponse statistics, connection_.Statistics());
    if (!statistics.store().write_error().empty()) {
      return MakeStatus(absl::StatusCode::kUnavailable, "the server cannot write its store: {}",
                        statistics.store().write_error());
    }
    std::vector<int64_t> fetched_at;
    Sample sample{.truth = truth_.Look(&fetched_at),
                  .believed = Believed(statistics.pages()),
                  .signals = statistics.ingest().signals_applied(),
                  .price = statistics.schedule().price(),
                  .unused = Unused(statistics.schedule())};
    const std::vector<KnownPoll> polls = feeder_.TakeKnown();
    sample.uniform = Advance(rules_.uniform, sample.truth.time_micros, fetched_at, polls);
    sample.pings_first = Advance(rules_.pings_first, sample.truth.time_micros, fetched_at, polls);
    samples_.push_back(sample);
    if (samples_.size() > 1) Show();
    return absl::OkStatus();
  }

  // The time between samples.
  [[nodiscard]] int64_t interval_micros() const { return kSecondMicros / per_second_; }
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
  [[nodiscard]] const Setting& setting() const { return setting_; }
  // Why the console did not accept the numbers; OK if it did.
  [[nodiscard]] const Status& console_status() const { return console_status_; }

 private:
  [[nodiscard]] RuleSample Advance(RuleSchedule& rule, int64_t now,
                                   const std::vector<int64_t>& crawls,
                                   const std::vector<KnownPoll>& polls) const {
    rule.Know(polls);
    rule.AdvanceTo(now, crawls, lead_micros_);
    return {.current = rule.ledger().Current(), .sum = rule.ledger().sum()};
  }

  // Shows rates over the last second, because rates over shorter times vary too much.
  void Show() {
    const size_t last = samples_.size() - 1;
    const size_t earlier = last - std::min(last, static_cast<size_t>(per_second_));
    screen_.Draw(samples_[earlier], samples_[last]);
    // If the console did not answer, it is not called again, because each request would wait for
    // the timeout.
    if (!console_status_.ok()) return;
    console_status_ =
        console_.Annotate(AnnotationJson(setting_, samples_[earlier], samples_[last]));
    if (last % static_cast<size_t>(per_second_) != 0) return;
    const int64_t look_ahead = console_.LookAheadMicros().value_or(kLeastLookAheadMicros);
    lead_micros_ = static_cast<int64_t>(kLeastOfLookAhead * static_cast<double>(look_ahead));
  }

  Connection& connection_;
  Truth& truth_;
  Rules& rules_;
  Feeder& feeder_;
  const Setting setting_;
  Screen screen_;
  ConsoleClient console_;
  Status console_status_;
  const int per_second_;
  int64_t lead_micros_ = static_cast<int64_t>(kLeastOfLookAhead * kLeastLookAheadMicros);
  std::vector<Sample> samples_;
};

// Watches until the history ends, and then returns true. Returns false if the replay ended for
// another reason.
bool WatchHistory(const PlayOptions& options, const std::string& path, SavedRun run, Crew& crew,
                  Watch& watch, Stop& stop) {
  int64_t next = options.now();
  while (!stop.requested() && !options.interrupted()) {
    const int64_t now = options.now();
    const bool over = now >= run.timeline.wall_end_micros();
    if (now >= next || over) {
      next = std::max(now, next + watch.interval_micros());
      if (const Status status = watch.Tick(); !status.ok()) stop.Fail(status);
      run.polled_until_micros = crew.feeder().polled_until_micros();
      run.finished = over;
      if (const Status status = WriteSavedRun(path, run); !status.ok()) stop.Fail(status);
    }
    if (over) return stop.status().ok();
    // The longest wait, which is short enough to react to an interrupt without a noticeable delay.
    constexpr int64_t kPatience = 100'000;
    const int64_t end = std::min(next, run.timeline.wall_end_micros());
    stop.WaitFor(std::clamp<int64_t>(end - options.now(), 0, kPatience));
  }
  return false;
}

Status CheckForeign(const KnownPages& pages, const std::string& run_dir) {
  if (pages.foreign == 0) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "the server holds {} pages that are not in the history: remove {} to start over",
      pages.foreign, run_dir);
}

// Prints a note if the polls ended many days behind the history, because the machine is then too
// slow. Some days are normal.
void PrintLag(const Timeline& timeline, int64_t polled_until_micros) {
  constexpr double kNotableDays = 60;
  const auto micros = static_cast<double>(timeline.wall_end_micros() - polled_until_micros);
  const double days = micros / timeline.wall_micros_per_day;
  if (days < kNotableDays) return;
  fmt::print(
      "  Note: the polls ended {:.0f} days behind the history, so that their signals came late: "
      "the "
      "machine is busy, or too slow for this speed.\n",
      days);
}

void PrintSummary(bool over, int64_t polled_until_micros, const Watch& watch) {
  if (watch.samples().size() < 2) return;
  fmt::print("\n{}{}", over ? "" : "Stopped before the end of the history.\n",
             Summary(watch.setting(), watch.samples()));
  if (!watch.console_status().ok())
    fmt::print("  Note: {}.\n", std::string(watch.console_status().message()));
  if (over) PrintLag(watch.setting().timeline, polled_until_micros);
  std::fflush(stdout);
}

}  // namespace

Status Play(const PlayOptions& options) {
  const std::string path = SavedRunPath(options.run_dir);
  ASSIGN_OR_RETURN(SavedRun run, ReadSavedRun(path));
  ASSIGN_OR_RETURN(const std::vector<HistoryPage> history, ReadHistory(run.history));
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                   Connection::Open(options.server, options.security, kConnectMicros));
  ASSIGN_OR_RETURN(const bool resumed, Begin(path, &run, options.now()));
  const ReplayedHistory replayed(history, run.timeline, run.recall);
  ASSIGN_OR_RETURN(const KnownPages pages, connection->ListKnownPages(replayed));
  RETURN_IF_ERROR(CheckForeign(pages, options.run_dir));

  const LastCrawls crawls = StartingCrawls(replayed, pages);
  const int64_t start = resumed ? options.now() : run.timeline.wall_begin_micros;
  Truth truth(replayed, crawls, start, options.now);
  Rules rules(replayed, crawls, start);
  const Setting setting{.title = std::filesystem::path(run.history).filename().string(),
                        .timeline = run.timeline,
                        .crawl_rate_per_second = run.crawl_rate_per_second,
                        .colour = options.terminal};
  Stop stop;
  Crew crew(*connection, replayed, truth, run, options, stop);
  Watch watch(*connection, truth, rules, crew.feeder(), setting, options);
  crew.Start(pages.known);
  const bool over = WatchHistory(options, path, run, crew, watch, stop);
  const int64_t polled_until = crew.feeder().polled_until_micros();
  crew.Finish();
  RETURN_IF_ERROR(stop.status());
  PrintSummary(over, polled_until, watch);
  return absl::OkStatus();
}

}  // namespace freshet::demo
