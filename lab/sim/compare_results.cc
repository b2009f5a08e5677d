#include "lab/sim/compare_results.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "lab/sim/tsv.h"

namespace freshet {
namespace {

constexpr std::string_view kHeader =
    "source\tcontent\tpolicy\tcrawls_per_day\trecall\tseed\tepoch_days\twarm_up\t"
    "weighted_staleness\tstaleness\tsettled_weighted_staleness\tcrawls\tseconds";

template <typename Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseRow(std::string_view line, ReplayKey* key, ReplayScore* score) {
  const std::vector<std::string_view> fields = Split(line, '\t');
  if (fields.size() != 13) return false;
  key->source = fields[0];
  key->policy = fields[2];
  return Parse(fields[1], &key->content) && Parse(fields[3], &key->crawls_per_day) &&
         Parse(fields[4], &key->recall) && Parse(fields[5], &key->seed) &&
         Parse(fields[6], &key->epoch_days) && Parse(fields[7], &key->warm_up) &&
         Parse(fields[8], &score->weighted_staleness) && Parse(fields[9], &score->staleness) &&
         Parse(fields[10], &score->settled_weighted_staleness) &&
         Parse(fields[11], &score->crawls) && Parse(fields[12], &score->seconds);
}

// Formats a row. Its numbers have enough digits to be read back exactly.
std::string RowOf(const ReplayKey& key, const ReplayScore& score) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3f}\n", key.source,
                     key.content, key.policy, key.crawls_per_day, key.recall, key.seed,
                     key.epoch_days, key.warm_up, score.weighted_staleness, score.staleness,
                     score.settled_weighted_staleness, score.crawls, score.seconds);
}

Status Unreadable(const std::string& path) { return NotFound("{}: cannot be opened", path); }

}  // namespace

uint64_t ContentOf(const World& world) {
  uint64_t hash = 0;
  const auto mix = [&hash](uint64_t part) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  };
  const auto mix_double = [&mix](double part) { mix(std::bit_cast<uint64_t>(part)); };
  const auto mix_instant = [&mix](Instant part) { mix(static_cast<uint64_t>(part.micros())); };
  mix(static_cast<uint64_t>(world.signal_delay.micros()));
  mix_instant(world.begin);
  mix_instant(world.end);
  for (const ReplayPage& page : world.pages) {
    for (const char letter : page.url) mix(static_cast<unsigned char>(letter));
    mix_double(page.importance);
    mix_instant(page.first_seen);
    mix_instant(page.gone_at);
    for (const ReplayPage::Touch& touch : page.touches) {
      mix_instant(touch.at);
      mix(static_cast<uint64_t>(touch.delay.micros()) * 8 + (touch.changed ? 1 : 0) +
          (touch.signalled ? 2 : 0) + (touch.dated ? 4 : 0));
    }
  }
  for (const std::vector<TrueRates>& truth : world.truth) {
    for (const TrueRates& rates : truth) {
      mix_instant(rates.from);
      mix_double(rates.change_rate);
      mix_double(rates.recall);
      mix_double(rates.false_rate);
    }
  }
  for (const TrueBurst& burst : world.bursts) {
    mix_instant(burst.arrives);
    mix_double(burst.changed_share);
  }
  return hash;
}

StatusOr<ResultFile> ResultFile::Open(const std::string& path,
                                      const std::vector<std::string>& again) {
  ResultFile file;
  file.path_ = path;
  if (path.empty()) return file;
  std::string text;
  if (std::filesystem::exists(path)) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return Unreadable(path);
    std::ostringstream all;
    all << in.rdbuf();
    text = std::move(all).str();
    const size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
    if (whole < text.size()) {
      text.resize(whole);
      std::error_code failed;
      std::filesystem::resize_file(path, whole, failed);
      if (failed) return Unreadable(path);
    }
  }
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    if (++number == 1 && line == kHeader) continue;
    if (line.empty()) continue;
    ReplayKey key;
    ReplayScore score;
    if (number == 1 || !ParseRow(line, &key, &score)) {
      return InvalidArgument("{}: line {} is not a result of freshet-sim compare", path, number);
    }
    if (std::find(again.begin(), again.end(), key.policy) != again.end()) continue;
    file.scores_[key] = score;
  }
  file.out_.open(path, std::ios::binary | std::ios::app);
  if (text.empty()) file.out_ << kHeader << '\n' << std::flush;
  if (!file.out_) return Unreadable(path);
  return file;
}

std::optional<ReplayScore> ResultFile::Find(const ReplayKey& key) const {
  const auto it = scores_.find(key);
  if (it == scores_.end()) return std::nullopt;
  return it->second;
}

Status ResultFile::Add(const ReplayKey& key, const ReplayScore& score) {
  scores_[key] = score;
  if (path_.empty()) return {};
  out_ << RowOf(key, score) << std::flush;
  if (!out_) return MakeStatus(absl::StatusCode::kDataLoss, "{}: cannot be written", path_);
  return {};
}

}  // namespace freshet
