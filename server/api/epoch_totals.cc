#include "server/api/epoch_totals.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/estimate/operational_time.h"

namespace freshet {
namespace {

using ClassSums = SiteLearner::ClassSums;

bool IsSum(double value) { return std::isfinite(value) && value >= 0; }

Status CheckSum(const char* field, double value) {
  if (IsSum(value)) return absl::OkStatus();
  return InvalidArgument("{}: {} is not a finite number >= 0", field, value);
}

void WriteClass(const ClassSums& sums, v1::EpochClassTotals* out) {
  out->set_burst(static_cast<uint32_t>(sums.source_class.burst()));
  out->set_signals(sums.signals);
  out->set_truth(sums.truth);
  out->set_false_signals(sums.false_signals);
  out->set_changes(sums.changes);
  out->set_false_exposure(sums.false_exposure);
  out->set_pages(sums.pages);
  out->set_ratio(sums.ratio);
  out->set_log_ratio(sums.log_ratio);
  out->set_seen(sums.seen);
}

StatusOr<ClassSums> ReadClass(const v1::EpochClassTotals& totals, uint8_t source) {
  if (totals.burst() >= limits::kBurstClasses) {
    return InvalidArgument("classes.burst: {} is too large: it must be below {}", totals.burst(),
                           limits::kBurstClasses);
  }
  RETURN_IF_ERROR(CheckSum("classes.signals", totals.signals()));
  RETURN_IF_ERROR(CheckSum("classes.truth", totals.truth()));
  RETURN_IF_ERROR(CheckSum("classes.false_signals", totals.false_signals()));
  RETURN_IF_ERROR(CheckSum("classes.changes", totals.changes()));
  RETURN_IF_ERROR(CheckSum("classes.false_exposure", totals.false_exposure()));
  RETURN_IF_ERROR(CheckSum("classes.pages", totals.pages()));
  RETURN_IF_ERROR(CheckSum("classes.ratio", totals.ratio()));
  if (!std::isfinite(totals.log_ratio())) {
    return InvalidArgument("classes.log_ratio: {} is not finite", totals.log_ratio());
  }
  return ClassSums{
      .source_class = SourceClass(source, static_cast<BurstClass>(totals.burst())),
      .signals = totals.signals(),
      .truth = totals.truth(),
      .false_signals = totals.false_signals(),
      .changes = totals.changes(),
      .false_exposure = totals.false_exposure(),
      .pages = totals.pages(),
      .ratio = totals.ratio(),
      .log_ratio = totals.log_ratio(),
      .seen = totals.seen(),
  };
}

Status ReadSums(const v1::EpochTotals& totals, EpochTotals* out) {
  RETURN_IF_ERROR(CheckSum("told", totals.told()));
  RETURN_IF_ERROR(CheckSum("expected", totals.expected()));
  RETURN_IF_ERROR(CheckSum("untold", totals.untold()));
  RETURN_IF_ERROR(CheckSum("untold_exposure", totals.untold_exposure()));
  RETURN_IF_ERROR(CheckSum("false_exposure", totals.false_exposure()));
  out->learner.AddSums(SiteLearner::PageSums{.told = totals.told(),
                                             .expected = totals.expected(),
                                             .untold = totals.untold(),
                                             .untold_exposure = totals.untold_exposure(),
                                             .false_exposure = totals.false_exposure(),
                                             .pages = totals.pages()});
  return absl::OkStatus();
}

Status ReadCounts(const v1::EpochTotals& totals, SiteCounts* out) {
  if (totals.events_size() != kAgeBins || totals.expected_events_size() != kAgeBins) {
    return InvalidArgument("events, expected_events: have {} and {} numbers; each must have {}",
                           totals.events_size(), totals.expected_events_size(), kAgeBins);
  }
  for (const auto* values : {&totals.events(), &totals.expected_events()}) {
    for (const double value : *values) RETURN_IF_ERROR(CheckSum("events, expected_events", value));
  }
  std::copy(totals.events().begin(), totals.events().end(), out->ages.events.begin());
  std::copy(totals.expected_events().begin(), totals.expected_events().end(),
            out->ages.expected.begin());
  RETURN_IF_ERROR(CheckSum("deaths", totals.deaths()));
  RETURN_IF_ERROR(CheckSum("death_exposure", totals.death_exposure()));
  RETURN_IF_ERROR(CheckSum("returns", totals.returns()));
  RETURN_IF_ERROR(CheckSum("looks", totals.looks()));
  out->lives = {.deaths = totals.deaths(),
                .exposure = totals.death_exposure(),
                .returns = totals.returns(),
                .looks = totals.looks()};
  return absl::OkStatus();
}

Status ReadSamples(const v1::EpochTotals& totals, RateSamples* out) {
  const int size = totals.sample_hashes_size();
  if (static_cast<size_t>(size) > limits::kMaxPriorSamples ||
      totals.sample_changes_size() != size || totals.sample_exposures_size() != size) {
    return InvalidArgument(
        "sample_hashes: has {} numbers, sample_changes has {} and sample_exposures has {}: the "
        "three must have equally many, at most {}",
        size, totals.sample_changes_size(), totals.sample_exposures_size(),
        limits::kMaxPriorSamples);
  }
  for (int i = 0; i < size; ++i) {
    const RateSamples::Kept sample = {.hash = totals.sample_hashes(i),
                                      .changes = totals.sample_changes(i),
                                      .exposure = totals.sample_exposures(i)};
    RETURN_IF_ERROR(CheckSum("sample_changes", sample.changes));
    RETURN_IF_ERROR(CheckSum("sample_exposures", sample.exposure));
    out->Keep(sample);
  }
  return absl::OkStatus();
}

}  // namespace

void ToProto(const EpochTotals& totals, const Sources& sources, v1::EpochTotals* out) {
  const SiteLearner::PageSums& sums = totals.learner.sums();
  out->set_pages(sums.pages);
  out->set_told(sums.told);
  out->set_expected(sums.expected);
  out->set_untold(sums.untold);
  out->set_untold_exposure(sums.untold_exposure);
  out->set_false_exposure(sums.false_exposure);
  for (const ClassSums& of_class : totals.learner.classes()) {
    v1::EpochClassTotals* const row = out->add_classes();
    row->set_source(sources.NameOf(of_class.source_class.source()));
    WriteClass(of_class, row);
  }
  const auto& [ages, lives] = totals.counts;
  out->mutable_events()->Add(ages.events.begin(), ages.events.end());
  out->mutable_expected_events()->Add(ages.expected.begin(), ages.expected.end());
  out->set_deaths(lives.deaths);
  out->set_death_exposure(lives.exposure);
  out->set_returns(lives.returns);
  out->set_looks(lives.looks);
  for (const RateSamples::Kept& sample : totals.samples.kept()) {
    out->add_sample_hashes(sample.hash);
    out->add_sample_changes(sample.changes);
    out->add_sample_exposures(sample.exposure);
  }
}

StatusOr<EpochTotals> FromProto(const v1::EpochTotals& totals, const Sources& sources) {
  if (totals.classes_size() > kSourceClasses) {
    return InvalidArgument("classes: has {} entries; at most {} are allowed", totals.classes_size(),
                           kSourceClasses);
  }
  EpochTotals out;
  RETURN_IF_ERROR(ReadSums(totals, &out));
  for (const v1::EpochClassTotals& of_class : totals.classes()) {
    const std::optional<uint8_t> source = sources.Find(of_class.source());
    ASSIGN_OR_RETURN(const ClassSums sums, ReadClass(of_class, source.value_or(0)));
    if (source) out.learner.AddSums(sums);
  }
  RETURN_IF_ERROR(ReadCounts(totals, &out.counts));
  RETURN_IF_ERROR(ReadSamples(totals, &out.samples));
  return out;
}

}  // namespace freshet
