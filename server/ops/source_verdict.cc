#include "server/ops/source_verdict.h"

#include <algorithm>

#include "fmt/format.h"

namespace freshet {
namespace {

// Fewer signals say little: even if all 20 are true, the interval begins below 0.85.
constexpr double kFewSignals = 20;
constexpr double kReliable = 0.8;
constexpr double kUseful = 0.5;
constexpr double kNoise = 0.2;
constexpr double kMostChanges = 0.7;
constexpr double kSomeChanges = 0.1;

std::string Percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string GradeOf(const SourceVerdict& verdict) {
  if (verdict.signals < kFewSignals) return "unproven";
  if (verdict.precision >= kReliable) return "reliable";
  if (verdict.precision >= kUseful) return "useful";
  return verdict.precision > kNoise ? "weak" : "noise";
}

std::string PrecisionWords(const SourceVerdict& verdict) {
  const std::string share =
      fmt::format("{} of its signals stand for a change ({} to {})", Percent(verdict.precision),
                  Percent(verdict.precision_low), Percent(verdict.precision_high));
  if (verdict.grade == "unproven") {
    return fmt::format("Too early to judge: {:.0f} signals of pages that were crawled since.",
                       verdict.signals);
  }
  if (verdict.grade == "reliable") return fmt::format("Reliable: {}.", share);
  if (verdict.grade == "useful") return fmt::format("Useful: {}.", share);
  if (verdict.grade == "weak") {
    return fmt::format("Weak: only {}. Most crawls for them find nothing new.", share);
  }
  return fmt::format("Noise: only {}. They hardly move a crawl; ask its sender what it sends.",
                     share);
}

std::string RecallWords(const SourceVerdict& verdict) {
  if (verdict.grade == "unproven" || verdict.recall <= 0) return "";
  const std::string share = Percent(verdict.recall);
  if (verdict.recall >= kMostChanges) {
    return fmt::format(" It announces most changes ({}).", share);
  }
  if (verdict.recall >= kSomeChanges) {
    return fmt::format(" It announces {} of all changes; the others are found by crawling.", share);
  }
  return fmt::format(" It announces few of all changes ({}).", share);
}

std::string QuarantineWords(const SourceVerdict& verdict) {
  if (verdict.quarantined_hosts == 0) return "";
  return fmt::format(
      " In quarantine at {} host{}, where fewer of its signals proved true than were expected to.",
      verdict.quarantined_hosts, verdict.quarantined_hosts == 1 ? "" : "s");
}

void AddClass(const v1::SourceTrust& trust, SourceVerdict* verdict) {
  const double weight = trust.signals();
  verdict->signals += weight;
  verdict->precision += weight * trust.precision().value();
  verdict->precision_low += weight * trust.precision().low();
  verdict->precision_high += weight * trust.precision().high();
  verdict->recall = std::min(1.0, verdict->recall + trust.recall());
}

void AddHost(const v1::HostTrust& trust, SourceVerdict* verdict) {
  const double weight = trust.signals();
  // Finish turns these sums into means. The recall is the highest recall of all hosts, which shows
  // what the source can do.
  verdict->signals += weight;
  verdict->precision += weight * trust.precision().value();
  verdict->precision_low += weight * trust.precision().low();
  verdict->precision_high += weight * trust.precision().high();
  verdict->recall = std::max(verdict->recall, trust.recall());
}

SourceVerdict* VerdictOf(const std::string& source, std::vector<SourceVerdict>* verdicts) {
  const auto known = std::find_if(verdicts->begin(), verdicts->end(),
                                  [&](const SourceVerdict& v) { return v.source == source; });
  if (known != verdicts->end()) return &*known;
  verdicts->emplace_back().source = source;
  return &verdicts->back();
}

void Finish(SourceVerdict* verdict) {
  if (verdict->signals > 0) {
    verdict->precision /= verdict->signals;
    verdict->precision_low /= verdict->signals;
    verdict->precision_high /= verdict->signals;
  }
  verdict->grade = GradeOf(*verdict);
  verdict->words = PrecisionWords(*verdict) + RecallWords(*verdict) + QuarantineWords(*verdict);
}

}  // namespace

std::vector<SourceVerdict> VerdictsOf(const v1::GetTrustReportResponse& report) {
  std::vector<SourceVerdict> verdicts;
  for (const v1::SourceTrust& trust : report.sources()) {
    AddClass(trust, VerdictOf(trust.source(), &verdicts));
  }
  const size_t whole = verdicts.size();
  for (const v1::HostTrust& trust : report.hosts()) {
    SourceVerdict* verdict = VerdictOf(trust.source(), &verdicts);
    if (static_cast<size_t>(verdict - verdicts.data()) >= whole) AddHost(trust, verdict);
  }
  for (SourceVerdict& verdict : verdicts) {
    for (const v1::HostTrust& host : report.hosts()) {
      verdict.quarantined_hosts +=
          static_cast<int>(host.source() == verdict.source && host.has_quarantined_since());
    }
    Finish(&verdict);
  }
  return verdicts;
}

}  // namespace freshet
