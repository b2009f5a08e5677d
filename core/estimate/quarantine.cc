#include "core/estimate/quarantine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr double kWalk = 0.02;
constexpr double kSpread = 1;
constexpr double kWorse = 2;
constexpr double kSuspicion = 12;
// The maximum that one crawl adds to the suspicion. An interval with many signals is still only one
// outcome.
constexpr double kMostPerCrawl = 1.6;
constexpr double kLongestStep = 1;
// A shift nearer to 0 than this counts as 0.
constexpr double kNotable = 0.5;
// The part of the shift that is applied.
constexpr double kShare = 0.5;
constexpr double kFade = 1 - 1.0 / 40;  // per crawl
// The probability of an outcome is kept this far from 0 and from 1.
constexpr double kLeastDoubt = 1e-3;
constexpr double kLongestShift = 12;
constexpr std::string_view kLinePrefix = "#source ";

struct Exponent {
  double s = 0;
  double slope = 0;  // ds/db
};

Exponent ExponentAt(const SignalledInterval& interval, double shift) {
  Exponent at{.s = interval.rest};
  const double factor = std::exp(shift);
  for (const SignalledInterval::Signals& signals : interval.signals) {
    const double odds = signals.odds * factor;
    at.s += signals.count * std::log1p(odds);
    at.slope += signals.count * odds / (1 + odds);
  }
  return at;
}

double LogChance(const Exponent& at, bool changed) {
  const double chance = std::clamp(-std::expm1(-at.s), kLeastDoubt, 1 - kLeastDoubt);
  return changed ? std::log(chance) : std::log1p(-chance);
}

void Suspect(const SignalledInterval& interval, SourceStanding& standing) {
  const double likely = LogChance(ExponentAt(interval, 0), interval.changed);
  const double worse = LogChance(ExponentAt(interval, -kWorse), interval.changed);
  const double gain = std::clamp(worse - likely, -kMostPerCrawl, kMostPerCrawl);
  standing.suspicion = std::clamp(standing.suspicion + gain, 0.0, kSuspicion);
}

void Follow(const SignalledInterval& interval, SourceStanding& standing) {
  const Exponent at = ExponentAt(interval, standing.shift);
  const double odds = 1 / std::expm1(std::max(at.s, 1e-6));
  const double score = interval.changed ? at.slope * odds : -at.slope;
  const double variance = std::min(standing.variance + kWalk, kSpread);
  standing.variance = 1 / (1 / variance + at.slope * at.slope * odds);
  const double step = std::clamp(standing.variance * score, -kLongestStep, kLongestStep);
  standing.shift = std::clamp(standing.shift + step, -kLongestShift, kLongestShift);
}

void Count(const SignalledInterval& interval, SourceStanding& standing) {
  const double chance = std::max(-std::expm1(-ExponentAt(interval, standing.shift).s), 1e-9);
  for (double* sum : {&standing.signals, &standing.believed, &standing.proved}) *sum *= kFade;
  for (const SignalledInterval::Signals& signals : interval.signals) {
    const double shifted = signals.odds * std::exp(standing.shift);
    standing.signals += signals.count;
    standing.believed += signals.count * signals.odds / (1 + signals.odds);
    if (!interval.changed) continue;
    standing.proved += signals.count * std::min(1.0, shifted / (1 + shifted) / chance);
  }
}

// Returns the standing of a source among the sources of its host, which are sorted. Inserts it if
// missing.
template <typename Sources>
SourceStanding& StandingOf(const std::string& host, uint8_t source, Sources& sources) {
  const auto at = std::lower_bound(
      sources.begin(), sources.end(), source,
      [](const SourceStanding& standing, uint8_t value) { return standing.source < value; });
  if (at != sources.end() && at->source == source) return *at;
  return *sources.insert(at, SourceStanding{.host = host, .source = source, .variance = kSpread});
}

template <typename Sources>
size_t NumberInQuarantine(const Sources& sources) {
  return static_cast<size_t>(std::count_if(
      sources.begin(), sources.end(), [](const auto& source) { return source.quarantined(); }));
}

bool ParseInteger(const std::string& text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

const Quarantine::Sources* Quarantine::SourcesOf(const std::string& host,
                                                 const Staged& staged) const {
  if (const auto it = staged.hosts_.find(host); it != staged.hosts_.end()) return &it->second;
  return hosts_.Find(host);
}

QuarantineChange Quarantine::Observe(const std::string& host, uint8_t source,
                                     const SignalledInterval& interval, Instant now,
                                     Staged& staged) const {
  if (interval.signals.empty()) return QuarantineChange::kNone;
  const auto [of_host, is_new] = staged.hosts_.try_emplace(host);
  if (const Sources* known = is_new ? hosts_.Find(host) : nullptr) of_host->second = *known;
  SourceStanding& standing = StandingOf(host, source, of_host->second);
  Count(interval, standing);
  Suspect(interval, standing);
  Follow(interval, standing);
  DCHECK(std::isfinite(standing.shift) && std::isfinite(standing.suspicion));
  standing.last = now;
  if (!standing.quarantined()) {
    if (standing.suspicion < kSuspicion || standing.shift > -kNotable) {
      return QuarantineChange::kNone;
    }
    standing.since = now;
    staged.news_.push_back({.begun = true, .standing = standing});
    return QuarantineChange::kBegun;
  }
  if (standing.shift < -kNotable) return QuarantineChange::kNone;
  standing.since = Instant();
  standing.suspicion = 0;
  staged.news_.push_back({.begun = false, .standing = standing});
  return QuarantineChange::kEnded;
}

void Quarantine::Install(Staged&& staged) {
  for (auto& [host, sources] : staged.hosts_) {
    const Sources none;
    const Sources* const known = hosts_.Find(host);
    const Sources& before = known == nullptr ? none : *known;
    size_ += sources.size() - before.size();
    quarantined_ += NumberInQuarantine(sources) - NumberInQuarantine(before);
    hosts_.Set(host, std::move(sources));
    while (size_ > limits::kMaxWatchedSources) Forget();
  }
  for (QuarantineNews& news : staged.news_) {
    begun_ += news.begun ? 1 : 0;
    if (news_.size() >= limits::kMaxQuarantineNews) news_.erase(news_.begin());
    news_.push_back(std::move(news));
  }
}

Quarantine::Shifts Quarantine::ShiftsOf(const std::string& host, const Staged& staged) const {
  Shifts shifts;
  if (quarantined_ == 0 && staged.news_.empty()) return shifts;
  const Sources* sources = SourcesOf(host, staged);
  if (sources == nullptr) return shifts;
  for (const SourceStanding& standing : *sources) {
    if (standing.quarantined()) shifts.push_back({standing.source, kShare * standing.shift});
  }
  return shifts;
}

const SourceStanding* Quarantine::Find(const std::string& host, uint8_t source,
                                       const Staged& staged) const {
  const Sources* sources = SourcesOf(host, staged);
  if (sources == nullptr) return nullptr;
  for (const SourceStanding& standing : *sources) {
    if (standing.source == source) return &standing;
  }
  return nullptr;
}

std::vector<const SourceStanding*> Quarantine::All() const {
  std::vector<const SourceStanding*> all;
  all.reserve(size_);
  for (size_t part = 0; part < kParts; ++part) {
    ForEach(part, [&all](const SourceStanding& standing) { all.push_back(&standing); });
  }
  return all;
}

// Forgets an eighth of the sources at once, so that calls of this function are rare.
void Quarantine::Forget() {
  std::vector<const SourceStanding*> all = All();
  std::sort(all.begin(), all.end(), [](const SourceStanding* a, const SourceStanding* b) {
    return std::tuple(a->quarantined(), a->last, a->host, a->source) <
           std::tuple(b->quarantined(), b->last, b->host, b->source);
  });
  std::vector<std::pair<std::string, uint8_t>> gone;
  for (size_t i = 0; i < std::max<size_t>(1, all.size() / 8); ++i) {
    gone.emplace_back(all[i]->host, all[i]->source);
  }
  for (const auto& oldest : gone) {
    const std::string& host = oldest.first;
    const uint8_t source = oldest.second;
    Sources& sources = *hosts_.Find(host);
    const auto at = std::find_if(sources.begin(), sources.end(),
                                 [&](const auto& known) { return known.source == source; });
    quarantined_ -= at->quarantined() ? 1 : 0;
    sources.erase(at);
    --size_;
    if (sources.empty()) hosts_.Erase(host);
  }
}

std::string Quarantine::Serialise() const {
  std::vector<const SourceStanding*> all = All();
  std::erase_if(all, [](const SourceStanding* standing) { return !standing->quarantined(); });
  std::sort(all.begin(), all.end(), [](const SourceStanding* a, const SourceStanding* b) {
    return std::tie(a->host, a->source) < std::tie(b->host, b->source);
  });
  std::string out;
  for (const SourceStanding* s : all) {
    out += fmt::format("{}{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", kLinePrefix, s->host,
                       s->source, s->signals, s->believed, s->proved, s->shift, s->variance,
                       s->suspicion, s->last.micros(), s->since.is_none() ? 0 : s->since.micros());
  }
  return out;
}

bool Quarantine::IsLine(std::string_view line) {
  return line.substr(0, kLinePrefix.size()) == kLinePrefix;
}

Status Quarantine::AddLine(std::string_view line) {
  if (!IsLine(line)) return InvalidArgument("source: '{}'", line);
  line.remove_prefix(kLinePrefix.size());
  const std::vector<std::string> fields =
      absl::StrSplit(absl::string_view(line.data(), line.size()), '\t');
  if (fields.size() != 10) return InvalidArgument("source: {} fields, not 10", fields.size());
  std::array<double, 6> numbers;
  bool read = true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string& text = fields[i + 2];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
    read = read && error == std::errc() && end == text.data() + text.size() &&
           std::isfinite(numbers[i]) && (numbers[i] >= 0 || i == 3);
  }
  int64_t source = 0;
  int64_t last = 0;
  int64_t since = 0;
  read = read && !fields[0].empty() && ParseInteger(fields[1], &source) && source >= 0 &&
         source < limits::kMaxSources && ParseInteger(fields[8], &last) &&
         ParseInteger(fields[9], &since) && since >= 0;
  if (!read || !(numbers[4] > 0 && numbers[4] <= kSpread) || numbers[5] > kSuspicion ||
      std::abs(numbers[3]) > kLongestShift) {
    return InvalidArgument("source: '{}'", line);
  }
  const auto index = static_cast<uint8_t>(source);
  if (Find(fields[0], index, {}) != nullptr) {
    return InvalidArgument("source: {} of host '{}' is there twice", source, fields[0]);
  }
  if (size_ >= limits::kMaxWatchedSources) {
    return InvalidArgument(
        "source: no room for {} of host '{}': at most {} watched sources are allowed in all",
        source, fields[0], limits::kMaxWatchedSources);
  }
  SourceStanding& standing = StandingOf(fields[0], index, *hosts_.Add(fields[0], {}).first);
  ++size_;
  standing.signals = numbers[0];
  standing.believed = numbers[1];
  standing.proved = numbers[2];
  standing.shift = numbers[3];
  standing.variance = numbers[4];
  standing.suspicion = numbers[5];
  standing.last = Instant::FromMicros(last);
  if (since > 0) standing.since = Instant::FromMicros(since);
  quarantined_ += standing.quarantined() ? 1 : 0;
  return absl::OkStatus();
}

}  // namespace freshet
