#include "lab/demo/saved_run.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace freshet::demo {
namespace {

constexpr std::string_view kFormat = "freshet-demo 2";

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Returns the value of the next line, which must be "name value".
StatusOr<std::string_view> TakeValue(std::string_view& text, std::string_view name) {
  const std::string_view line = TakeLine(text);
  if (line.substr(0, name.size()) != name || line.size() <= name.size() ||
      line[name.size()] != ' ') {
    return InvalidArgument("the next line must be '{} VALUE', but it is not", name);
  }
  return line.substr(name.size() + 1);
}

template <typename Number>
Status TakeNumber(std::string_view& text, std::string_view name, Number* number) {
  ASSIGN_OR_RETURN(const std::string_view value, TakeValue(text, name));
  const char* last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, *number);
  if (error != std::errc() || end != last) {
    return InvalidArgument("'{}' is not a {}", value.substr(0, 40), name);
  }
  return absl::OkStatus();
}

Status WriteError(const std::string& path) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} cannot be written: {}", path,
                    std::strerror(errno));
}

}  // namespace

std::string FormatSavedRun(const SavedRun& run) {
  return fmt::format(
      "{}\nhistory {}\nhistory_begin_seconds {}\nhistory_end_seconds {}\nwall_begin_micros {}\n"
      "wall_micros_per_day {}\ncrawl_rate_per_second {}\nrecall {}\npolled_until_micros "
      "{}\nfinished {}\n",
      kFormat, run.history, run.timeline.history_begin_seconds, run.timeline.history_end_seconds,
      run.timeline.wall_begin_micros, run.timeline.wall_micros_per_day, run.crawl_rate_per_second,
      run.recall, run.polled_until_micros, run.finished ? 1 : 0);
}

StatusOr<SavedRun> ParseSavedRun(std::string_view text) {
  if (TakeLine(text) != kFormat) return InvalidArgument("does not start with '{}'", kFormat);
  SavedRun run;
  Timeline& timeline = run.timeline;
  ASSIGN_OR_RETURN(const std::string_view history, TakeValue(text, "history"));
  run.history = history;
  RETURN_IF_ERROR(TakeNumber(text, "history_begin_seconds", &timeline.history_begin_seconds));
  RETURN_IF_ERROR(TakeNumber(text, "history_end_seconds", &timeline.history_end_seconds));
  RETURN_IF_ERROR(TakeNumber(text, "wall_begin_micros", &timeline.wall_begin_micros));
  RETURN_IF_ERROR(TakeNumber(text, "wall_micros_per_day", &timeline.wall_micros_per_day));
  RETURN_IF_ERROR(TakeNumber(text, "crawl_rate_per_second", &run.crawl_rate_per_second));
  RETURN_IF_ERROR(TakeNumber(text, "recall", &run.recall));
  RETURN_IF_ERROR(TakeNumber(text, "polled_until_micros", &run.polled_until_micros));
  int finished = 0;
  RETURN_IF_ERROR(TakeNumber(text, "finished", &finished));
  run.finished = finished != 0;
  if (timeline.history_begin_seconds >= timeline.history_end_seconds ||
      !std::isfinite(timeline.wall_micros_per_day) || timeline.wall_micros_per_day <= 0) {
    return InvalidArgument("names a history without length");
  }
  if (!(run.recall >= 0 && run.recall <= 1))
    return InvalidArgument("names a recall of {}", run.recall);
  return run;
}

Status WriteSavedRun(const std::string& path, const SavedRun& run) {
  const std::string fresh = path + ".new";
  // If other users have access to the directory, one of them could have put a link there.
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);
  errno = 0;
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << FormatSavedRun(run);
  file.close();
  if (!file) return WriteError(fresh);
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  if (error) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} cannot be written: {}", path,
                      error.message());
  }
  return absl::OkStatus();
}

StatusOr<SavedRun> ReadSavedRun(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("{} cannot be opened", path);
  std::ostringstream text;
  text << file.rdbuf();
  StatusOr<SavedRun> run = ParseSavedRun(text.str());
  if (run.ok()) return run;
  return InvalidArgument("{}: {}", path, std::string(run.status().message()));
}

RunDecision DecideRun(const std::optional<SavedRun>& earlier, const SavedRun& wanted,
                      int64_t now_micros) {
  if (!earlier) return {};
  if (earlier->finished) return {.reason = "the earlier run had finished: starting over"};
  if (earlier->timeline.wall_begin_micros == 0) return {};
  Timeline unfixed = earlier->timeline;
  unfixed.wall_begin_micros = 0;
  if (earlier->history != wanted.history || unfixed != wanted.timeline ||
      earlier->crawl_rate_per_second != wanted.crawl_rate_per_second ||
      earlier->recall != wanted.recall) {
    return {.reason =
                "the earlier run was of another history, speed, rate or recall: starting over"};
  }
  if (now_micros >= earlier->timeline.wall_end_micros()) {
    return {.reason = "the history of the earlier run is over by now: starting over"};
  }
  return {.resume = true,
          .reason = fmt::format("going on with the earlier run at {}",
                                FormatDate(earlier->timeline.ToHistorySeconds(now_micros)))};
}

}  // namespace freshet::demo
