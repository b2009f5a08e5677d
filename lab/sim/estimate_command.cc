// freshet-sim estimate: estimates change rates and signal weights of every page of a table.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate/cho_gm.h"
#include "core/estimate/mle.h"
#include "core/estimate/signals.h"
#include "lab/common/wrong_flag.h"
#include "lab/methods/closed_form.h"
#include "lab/methods/moment.h"
#include "lab/sim/commands.h"
#include "lab/sim/estimate_default.h"
#include "lab/sim/tsv.h"

namespace freshet {
namespace {

struct EstimateFlags {
  std::string method;
  std::string input = "-";
  double delta = 0.05;
  RateBounds bounds;
  double smoothing = kChoGmSmoothing;
  double within = 0.5;
};

// One line of the answer.
struct EstimateRow {
  double change_rate = 0;
  double unsignalled_rate = 0;
  SourceValues signal_weight;
  RateInterval interval;
  EstimateStatus status = EstimateStatus::kNoObservations;
};

// Makes the row of a method that ignores signals: all changes count as unsignalled, and signals
// have weight 0.
EstimateRow WithoutSignals(const Observations& observations, const RateEstimate& estimate,
                           RateInterval interval) {
  return {estimate.change_rate, estimate.change_rate, SourceValues(observations.sources(), 0.0),
          interval, estimate.status};
}

EstimateRow MleRow(const Observations& observations, const EstimateFlags& flags) {
  const SignalEstimate estimate = EstimateMle(observations);
  return {MleChangeRate(observations, estimate), estimate.unsignalled_rate, estimate.signal_weight,
          MleChangeRateInterval(observations, estimate, flags.delta), estimate.status};
}

EstimateRow ChoGmRow(const Observations& observations, const EstimateFlags& flags) {
  const RateEstimate estimate = EstimateChoGm(observations, flags.smoothing);
  return WithoutSignals(observations, estimate,
                        ChoGmInterval(observations, estimate, flags.delta, flags.smoothing));
}

EstimateRow MomentRow(const Observations& observations, const EstimateFlags& flags) {
  const RateEstimate estimate = EstimateMoment(observations, flags.bounds);
  return WithoutSignals(observations, estimate,
                        MomentInterval(observations, estimate, flags.bounds, flags.delta));
}

EstimateRow CompleteRow(const Observations& observations, const EstimateFlags& flags) {
  const RateEstimate estimate = EstimateComplete(observations);
  return {estimate.change_rate, 0, SourceValues(observations.sources(), HUGE_VAL),
          CompleteInterval(observations, flags.delta), estimate.status};
}

EstimateRow ClosedFormRow(const Observations& observations, const EstimateFlags& flags) {
  const RateEstimate estimate = EstimateClosedForm(observations);
  return WithoutSignals(observations, estimate,
                        ClosedFormInterval(observations, estimate, flags.delta));
}

EstimateRow LowerBoundRow(const Observations& observations, const EstimateFlags& flags) {
  return WithoutSignals(observations, EstimateLowerBound(observations),
                        LowerBoundInterval(observations, flags.delta));
}

// The additional columns that a method prints.
enum class MoreColumns : uint8_t { kNone, kQuality, kBurnIn };

struct Method {
  const char* name;
  EstimateRow (*row)(const Observations&, const EstimateFlags&);
  MoreColumns more;
};

constexpr Method kMethods[] = {
    {"mle", MleRow, MoreColumns::kNone},
    {"cho_gm", ChoGmRow, MoreColumns::kNone},
    {"moment", MomentRow, MoreColumns::kBurnIn},
    {"complete", CompleteRow, MoreColumns::kNone},
    {"closed_form", ClosedFormRow, MoreColumns::kNone},
    {"lower_bound", LowerBoundRow, MoreColumns::kNone},
    {"signals", MleRow, MoreColumns::kQuality},
};

constexpr const char* kDefaultMethod = "default";

// Parses "tau:n:z" entries separated by commas. n has one count for each source, separated by
// slashes. An empty cell means that the page was not crawled twice.
StatusOr<Observations> ParseObservations(std::string_view text) {
  std::optional<Observations> observations;
  std::vector<double> counts;
  for (const std::string_view item : Split(text, ',')) {
    const std::vector<std::string_view> fields = Split(item, ':');
    if (fields.size() != 3) return InvalidArgument("observation '{}' is not tau:n:z", item);
    ASSIGN_OR_RETURN(const double elapsed, ParseNumber(fields[0]));
    counts.clear();
    for (const std::string_view count : Split(fields[1], '/')) {
      ASSIGN_OR_RETURN(const double n, ParseNonNegative(count));
      counts.push_back(n);
    }
    if (fields[2] != "0" && fields[2] != "1") {
      return InvalidArgument(
          "observation '{}': the last number must be 1 (the page had changed) or 0", item);
    }
    if (!observations) observations.emplace(counts.size());
    const Status added = observations->Add(elapsed, counts, fields[2] == "1");
    if (!added.ok()) {
      return InvalidArgument("observation '{}': {}", item, std::string(added.message()));
    }
  }
  return observations ? *std::move(observations) : Observations(1);
}

// Formats a number. NaN has no sign.
std::string Number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.17g}", value);
}

std::string Join(const SourceValues& values) {
  std::string text;
  for (const double value : values) {
    if (!text.empty()) text += '/';
    text += Number(value);
  }
  return text.empty() ? "nan" : text;
}

// Makes the additional columns of `signals`: the quality of each source, and naive ratios for
// comparison.
std::string QualityColumns(const Observations& observations, const EstimateRow& row) {
  SourceValues columns[6];
  for (size_t k = 0; k < observations.sources(); ++k) {
    const double rate = SignalRate(observations, k);
    const SignalQuality quality = QualityOf(row.change_rate, rate, row.signal_weight[k]);
    const NaiveQuality naive = NaiveSignalQuality(observations, k);
    columns[0].push_back(quality.signal_rate);
    columns[1].push_back(quality.false_signal_rate);
    columns[2].push_back(quality.precision);
    columns[3].push_back(quality.recall);
    columns[4].push_back(naive.precision);
    columns[5].push_back(naive.recall);
  }
  std::string text;
  for (const SourceValues& column : columns) text += '\t' + Join(column);
  return text;
}

// Makes the additional columns of `moment`: the half-width of Lemma 3 of "Learning to Crawl", and
// the resulting burn-in. The burn-in is the number of intervals of the observed lengths after which
// the relative error is at most --within, with probability 1 - delta. The half-width falls like the
// inverse root of the number.
std::string BurnInColumns(const Observations& observations, const EstimateRow& row,
                          const EstimateFlags& flags) {
  if (observations.empty()) return "\tnan\tnan";
  const double half = MomentHalfWidth(observations, flags.bounds, flags.delta);
  const double ratio = half / (flags.within * row.change_rate);
  return fmt::format("\t{}\t{}", Number(half),
                     Number(static_cast<double>(observations.size()) * ratio * ratio));
}

std::string FurtherColumns(const Observations& observations, const EstimateRow& row,
                           const EstimateFlags& flags, MoreColumns more) {
  switch (more) {
    case MoreColumns::kNone:
      return "";
    case MoreColumns::kQuality:
      return QualityColumns(observations, row);
    case MoreColumns::kBurnIn:
      return BurnInColumns(observations, row, flags);
  }
  return "";
}

const char* FurtherNames(MoreColumns more) {
  switch (more) {
    case MoreColumns::kNone:
      return "";
    case MoreColumns::kQuality:
      return "\tsignal_rate\tfalse_signal_rate\tprecision\trecall"
             "\tnaive_precision\tnaive_recall";
    case MoreColumns::kBurnIn:
      return "\thalf_width\tburn_in";
  }
  return "";
}

constexpr const char* kColumns =
    "id\tchange_rate\tunsignalled_rate\tsignal_weight\tlow\thigh\tstatus";

// Prints the rates that the service would use now for the near future, with times in days. `pooled`
// rows are based on the page's crawls and on the site, `prior` rows only on the site.
Status PrintSiteEstimates(std::istream& input) {
  ASSIGN_OR_RETURN(TsvReader table, TsvReader::Open(input, {"id", "observations"}));
  std::vector<SitePage> pages;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    StatusOr<Observations> observations = ParseObservations(table.Text(1));
    if (!observations.ok()) return table.RowError(std::string(observations.status().message()));
    pages.push_back({std::string(table.Text(0)), *std::move(observations)});
  }
  ASSIGN_OR_RETURN(const std::vector<PageEstimate> estimates, EstimateSite(pages));
  std::cout << kColumns << '\n';
  for (size_t i = 0; i < pages.size(); ++i) {
    const PageEstimate& page = estimates[i];
    const auto [low, high] = page.Interval95();
    std::cout << pages[i].id << '\t' << Number(page.rates.change_rate) << '\t'
              << Number(page.rates.unsignalled_rate) << '\t' << Number(page.rates.signal_weight)
              << '\t' << Number(low) << '\t' << Number(high) << '\t'
              << (pages[i].observations.empty() ? "prior" : "pooled") << '\n';
  }
  return {};
}

Status PrintEstimates(std::istream& input, const EstimateFlags& flags) {
  if (flags.method == kDefaultMethod) return PrintSiteEstimates(input);
  const Method* method =
      std::find_if(std::begin(kMethods), std::end(kMethods),
                   [&](const Method& candidate) { return flags.method == candidate.name; });
  enum Column : size_t { kId, kObservations };
  ASSIGN_OR_RETURN(TsvReader table, TsvReader::Open(input, {"id", "observations"}));
  std::cout << kColumns << FurtherNames(method->more) << '\n';
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return {};
    const StatusOr<Observations> observations = ParseObservations(table.Text(kObservations));
    if (!observations.ok()) return table.RowError(std::string(observations.status().message()));
    const EstimateRow row = method->row(*observations, flags);
    std::cout << table.Text(kId) << '\t' << Number(row.change_rate) << '\t'
              << Number(row.unsignalled_rate) << '\t' << Join(row.signal_weight) << '\t'
              << Number(row.interval.low) << '\t' << Number(row.interval.high) << '\t'
              << EstimateStatusName(row.status)
              << FurtherColumns(*observations, row, flags, method->more) << '\n';
  }
}

Status CheckFlags(const EstimateFlags& flags) {
  if (!(flags.delta > 0 && flags.delta < 1)) {
    return WrongFlag("--delta", flags.delta, "a number between 0 and 1");
  }
  if (!(flags.bounds.min >= 0 && flags.bounds.min <= flags.bounds.max)) {
    return InvalidArgument("--min {} and --max {}: 0 <= min <= max must hold", flags.bounds.min,
                           flags.bounds.max);
  }
  if (!(flags.within > 0 && std::isfinite(flags.within))) {
    return WrongFlag("--within", flags.within, "a number above 0");
  }
  if (!(flags.smoothing >= 0 && std::isfinite(flags.smoothing))) {
    return WrongFlag("--smoothing", flags.smoothing, "a number of at least 0");
  }
  return {};
}

}  // namespace

void AddEstimateCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "estimate", "Estimate change rates and signal weights from crawl histories");
  auto flags = std::make_shared<EstimateFlags>();
  std::vector<std::string> names = {kDefaultMethod};
  for (const Method& method : kMethods) names.emplace_back(method.name);
  command->add_option("--method", flags->method, "Estimator")
      ->required()
      ->check(CLI::IsMember(names));
  command
      ->add_option("--delta", flags->delta,
                   "Probability that the true rate is outside the interval between the columns low "
                   "and high of the output")
      ->capture_default_str();
  command
      ->add_option("--min", flags->bounds.min,
                   "Smallest change rate to return (only with --method moment)")
      ->capture_default_str();
  command
      ->add_option("--max", flags->bounds.max,
                   "Largest change rate to return (only with --method moment)")
      ->capture_default_str();
  command
      ->add_option("--within", flags->within,
                   "Relative error for column burn_in, the number of intervals after which the "
                   "error is below it (only with --method moment)")
      ->capture_default_str();
  command
      ->add_option("--smoothing", flags->smoothing,
                   "Length of the imaginary intervals that smooth the estimate; 0 for plain "
                   "maximum likelihood (only with --method cho_gm)")
      ->capture_default_str();
  command
      ->add_option("input", flags->input,
                   "Table with the columns id and observations, separated by a tab. The "
                   "observations \"5:1:1,2:0:0\" are two crawls: for each the time since the "
                   "previous crawl, the number of signals in between (1/0 for several sources), "
                   "and whether the page had changed; - is standard input")
      ->capture_default_str();
  command->callback([&action, flags] {
    action = [flags]() -> Status {
      RETURN_IF_ERROR(CheckFlags(*flags));
      return WithInput(flags->input,
                       [&](std::istream& input) { return PrintEstimates(input, *flags); });
    };
  });
}

}  // namespace freshet
