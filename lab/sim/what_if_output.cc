#include "lab/sim/what_if_output.h"

#include <cmath>

#include "core/base/counted.h"
#include "fmt/format.h"
#include "lab/common/rounded.h"
#include "lab/plot/svg_plot.h"
#include "lab/sim/tsv.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

enum WhatIfColumn : size_t {
  kWhatIfId,
  kWhatIfImportance,
  kWhatIfChangeRate,
  // The following columns are optional.
  kWhatIfComplete,
  kWhatIfLow,
  kWhatIfHigh,
  kWhatIfRecall,
  kWhatIfFalseRate,
  kWhatIfPrecision,
};

StatusOr<double> NumberOr(const TsvReader& table, size_t column, double otherwise) {
  if (!table.Has(column)) return otherwise;
  return table.NonNegative(column);
}

Status ReadInterval(const TsvReader& table, WhatIfPage* page) {
  if (!table.Has(kWhatIfLow)) return {};
  ASSIGN_OR_RETURN(page->low, table.NonNegative(kWhatIfLow));
  page->high = std::numeric_limits<double>::infinity();
  if (table.Text(kWhatIfHigh) != "inf") {
    ASSIGN_OR_RETURN(page->high, table.NonNegative(kWhatIfHigh));
  }
  const double rate = page->rates.change_rate;
  if (!(page->low <= rate && rate <= page->high)) {
    return table.RowError(
        fmt::format("change_rate: {} is not in {}..{}", rate, page->low, page->high));
  }
  return {};
}

Status ReadSignals(const TsvReader& table, PaperRates* rates) {
  const bool complete = table.Has(kWhatIfComplete) && table.Text(kWhatIfComplete) == "1";
  ASSIGN_OR_RETURN(rates->recall, NumberOr(table, kWhatIfRecall, 0));
  if (rates->recall > 1) return table.RowError("recall: above 1");
  if (complete) rates->recall = 1;
  ASSIGN_OR_RETURN(rates->false_signal_rate, NumberOr(table, kWhatIfFalseRate, 0));
  if (!table.Has(kWhatIfPrecision)) return {};
  ASSIGN_OR_RETURN(const double precision, table.NonNegative(kWhatIfPrecision));
  if (precision > 1 || (precision == 0 && rates->recall > 0)) {
    return table.RowError("precision: not above 0 and at most 1");
  }
  if (rates->recall > 0) {
    rates->false_signal_rate = rates->recall * rates->change_rate * (1 - precision) / precision;
  }
  return {};
}

std::string BandText(const FreshnessBand& band) {
  return fmt::format("{:.4f} | {:.4f} to {:.4f}", band.mean, band.low, band.high);
}

nlohmann::ordered_json JsonOfBand(const FreshnessBand& band) {
  return {{"mean", Rounded(band.mean, 7)},
          {"low", Rounded(band.low, 7)},
          {"high", Rounded(band.high, 7)}};
}

PlotPoint PointOf(double x, const FreshnessBand& band) {
  return {x, band.mean, (band.high - band.low) / 2};
}

std::string SignalSentence(const WhatIfAnswer& answer) {
  const std::string text = fmt::format(
      "Signals add {:.4f} of freshness: {:.4f} with them, {:.4f} without. Without signals ",
      answer.with_signals - answer.without_signals, answer.with_signals, answer.without_signals);
  if (std::isinf(answer.crawls_without_signals)) return text + "no crawl rate gives the same.\n";
  return text + fmt::format("{:.4g} crawls a day give the same.\n", answer.crawls_without_signals);
}

}  // namespace

Status ReadWhatIfPages(std::istream& input, PageSample* sample) {
  ASSIGN_OR_RETURN(TsvReader table, TsvReader::Open(input, {"id", "importance", "change_rate"},
                                                    {"complete", "low", "high", "recall",
                                                     "false_rate", "precision"}));
  if (table.Has(kWhatIfLow) != table.Has(kWhatIfHigh)) {
    return InvalidArgument("header: low and high: give both columns, or none");
  }
  if (table.Has(kWhatIfFalseRate) && table.Has(kWhatIfPrecision)) {
    return InvalidArgument("header: false_rate and precision: give only one of these columns");
  }
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return {};
    WhatIfPage page;
    ASSIGN_OR_RETURN(page.rates.importance, table.NonNegative(kWhatIfImportance));
    ASSIGN_OR_RETURN(page.rates.change_rate, table.NonNegative(kWhatIfChangeRate));
    RETURN_IF_ERROR(ReadInterval(table, &page));
    RETURN_IF_ERROR(ReadSignals(table, &page.rates));
    sample->Add(page);
  }
}

std::string WhatIfTable(const WhatIfAnswer& answer) {
  std::string text = Counted(answer.pages, "page");
  if (answer.sampled < answer.pages) text += fmt::format(", judged by {}", answer.sampled);
  text += fmt::format(
      ", {:.6g} crawls a day.\n\n| crawls/day | freshness | 95% | without signals | 95% |\n"
      "|---|---|---|---|---|\n",
      answer.crawls_per_day);
  for (const WhatIfRate& rate : answer.curve) {
    text += fmt::format("| {:.6g} | {} | {} |\n", rate.crawls_per_day, BandText(rate.with_signals),
                        BandText(rate.without_signals));
  }
  text += "\nBelow, every rate is taken as it stands; the curve is the mean over what it may be.\n";
  text +=
      fmt::format("\nOne crawl a day more adds {:.3g} of freshness, one a second more {:.3g}.\n",
                  answer.gain_of_one_a_day, answer.gain_of_one_a_second);
  text += SignalSentence(answer);
  text += fmt::format(
      "\n| policy | freshness | never crawled | less than once in {:.4g} days |\n"
      "|---|---|---|---|\n",
      answer.starve_days);
  for (const WhatIfPolicy& policy : answer.policies) {
    text += fmt::format("| {} | {:.4f} | {:.0f} | {:.0f} |\n", policy.name, policy.freshness,
                        policy.never, policy.starving);
  }
  return text;
}

std::string WhatIfJson(const WhatIfAnswer& answer) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const WhatIfRate& rate : answer.curve) {
    curve.push_back({{"crawls_per_day", Significant(rate.crawls_per_day, 6)},
                     {"freshness", JsonOfBand(rate.with_signals)},
                     {"without_signals", JsonOfBand(rate.without_signals)}});
  }
  nlohmann::ordered_json policies = nlohmann::ordered_json::array();
  for (const WhatIfPolicy& policy : answer.policies) {
    policies.push_back({{"policy", policy.name},
                        {"freshness", Rounded(policy.freshness, 7)},
                        {"never_crawled", Rounded(policy.never, 1)},
                        {"starving", Rounded(policy.starving, 1)}});
  }
  nlohmann::ordered_json all = {
      {"pages", answer.pages},
      {"sampled", answer.sampled},
      {"crawls_per_day", Significant(answer.crawls_per_day, 6)},
      {"curve", std::move(curve)},
      {"freshness", Rounded(answer.with_signals, 7)},
      {"freshness_without_signals", Rounded(answer.without_signals, 7)},
      {"gain_of_one_crawl_a_day", Significant(answer.gain_of_one_a_day, 5)},
      {"gain_of_one_crawl_a_second", Significant(answer.gain_of_one_a_second, 5)},
      {"starve_days", answer.starve_days},
      {"policies", std::move(policies)}};
  // null = no number of crawls is enough.
  all["crawls_per_day_without_signals"] =
      std::isinf(answer.crawls_without_signals)
          ? nlohmann::ordered_json()
          : nlohmann::ordered_json(Significant(answer.crawls_without_signals, 6));
  return all.dump(2) + '\n';
}

std::string WhatIfSvg(const WhatIfAnswer& answer) {
  Plot plot;
  plot.title = "Freshness of " + Counted(answer.pages, "page");
  plot.x_label = "crawls a day";
  plot.y_label = "share of requests served fresh";
  plot.log_x = true;
  plot.series = {{"with signals", {}}, {"without signals", {}}};
  for (const WhatIfRate& rate : answer.curve) {
    plot.series[0].points.push_back(PointOf(rate.crawls_per_day, rate.with_signals));
    plot.series[1].points.push_back(PointOf(rate.crawls_per_day, rate.without_signals));
  }
  return FormatSvg(plot);
}

}  // namespace freshet
