#include "lab/demo/prepare.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "lab/common/history.h"

namespace freshet::demo {
namespace {

constexpr double kDayMicros = 16'000;  // ten years take a minute
constexpr double kDaysPerYear = 365.2425;
constexpr double kDaysPerEpoch = 30;

Status Failure(const std::string& path, const std::error_code& error) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, "{}: {}", path, error.message());
}

// Rounds the rate to a thousandth, so that the server's command line can state it exactly.
double RateOf(double per_1000_a_day, const std::vector<HistoryPage>& history,
              const Timeline& timeline) {
  const auto exists = [&](const HistoryPage& page) {
    return page.first_seen_seconds <= timeline.history_end_seconds;
  };
  const auto pages = std::count_if(history.begin(), history.end(), exists);
  const double a_day = static_cast<double>(pages) * per_1000_a_day / 1000;
  const double days_per_second = kMicrosPerSecond / timeline.wall_micros_per_day;
  return std::round(a_day * days_per_second * 1000) / 1000;
}

StatusOr<std::optional<SavedRun>> EarlierRun(const std::string& run_dir) {
  StatusOr<SavedRun> run = ReadSavedRun(SavedRunPath(run_dir));
  if (run.status().code() == absl::StatusCode::kNotFound) return std::optional<SavedRun>();
  if (!run.ok()) return run.status();
  // An earlier run whose store is missing cannot be resumed.
  std::error_code ignored;
  if (!std::filesystem::exists(StorePath(run_dir), ignored)) return std::optional<SavedRun>();
  return std::optional<SavedRun>(*std::move(run));
}

}  // namespace

std::string SavedRunPath(const std::string& run_dir) { return run_dir + "/replay"; }
std::string StorePath(const std::string& run_dir) { return run_dir + "/store"; }

StatusOr<SavedRun> PlanRun(const PrepareOptions& options) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(options.history, error);
  if (error) return Failure(options.history, error);
  SavedRun run{.history = path.lexically_normal().string()};
  ASSIGN_OR_RETURN(const std::vector<HistoryPage> history, ReadHistory(run.history));
  const double days = options.years ? *options.years * kDaysPerYear
                                    : options.seconds * kMicrosPerSecond / kDayMicros;
  ASSIGN_OR_RETURN(run.timeline, MakeTimeline(history, options.seconds, days));
  run.crawl_rate_per_second =
      options.crawl_rate_per_second.value_or(RateOf(options.rate, history, run.timeline));
  if (!(run.crawl_rate_per_second >= 0) || !std::isfinite(run.crawl_rate_per_second)) {
    return InvalidArgument("crawl rate {} is not a number >= 0", run.crawl_rate_per_second);
  }
  run.recall = options.recall;
  if (!(run.recall >= 0 && run.recall <= 1)) {
    return InvalidArgument("signal recall {} is out of range: it must be from 0 to 1", run.recall);
  }
  return run;
}

StatusOr<Prepared> Prepare(const PrepareOptions& options, int64_t now_micros) {
  ASSIGN_OR_RETURN(const SavedRun wanted, PlanRun(options));
  std::error_code error;
  std::filesystem::create_directories(options.run_dir, error);
  if (error) return Failure(options.run_dir, error);
  ASSIGN_OR_RETURN(const std::optional<SavedRun> earlier, EarlierRun(options.run_dir));
  const RunDecision decision = DecideRun(earlier, wanted, now_micros);
  if (decision.resume) return Prepared{.run = *earlier, .decision = decision};
  // The file of the new run is written first. This run has not begun, so the next start does not
  // resume it, even if this process is killed while it removes the old store.
  RETURN_IF_ERROR(WriteSavedRun(SavedRunPath(options.run_dir), wanted));
  std::filesystem::remove_all(StorePath(options.run_dir), error);
  if (error) return Failure(StorePath(options.run_dir), error);
  return Prepared{.run = wanted, .decision = decision};
}

std::string ServerSettings(const Prepared& prepared) {
  const double day = prepared.run.timeline.wall_micros_per_day;
  return fmt::format("resume={}\nday={:.0f}us\nepoch={:.0f}us\ncrawl_rate={}\n",
                     prepared.decision.resume ? 1 : 0, day, day * kDaysPerEpoch,
                     prepared.run.crawl_rate_per_second);
}

}  // namespace freshet::demo
