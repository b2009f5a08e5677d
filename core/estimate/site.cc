#include "core/estimate/site.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace freshet {
namespace {

// The start of a slot line. No host name starts with this text.
constexpr std::string_view kSlotPrefix = "#slot ";

absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

// Reads exactly the numbers of `out`. All must be finite and >= 0.
bool ParseDoubles(std::string_view text, char separator, std::span<double> out) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < out.size(); ++i) {
    if (i > 0 && (at == end || *at++ != separator)) return false;
    const auto [next, error] = std::from_chars(at, end, out[i]);
    if (error != std::errc() || !std::isfinite(out[i]) || out[i] < 0) return false;
    at = next;
  }
  return at == end;
}

bool Near(double a, double b) {
  constexpr double kNotable = 0.02;
  return std::abs(a - b) <= kNotable * std::max(a, b);
}

bool Near(const RatePrior& a, const RatePrior& b) {
  return Near(a.mean, b.mean) && Near(a.shape, b.shape);
}

constexpr size_t kCountFields = 3;

std::string CountsText(const SiteCounts& counts) {
  const LifeCounts& lives = counts.lives;
  return fmt::format("{}\t{}\t{} {} {} {}", fmt::join(counts.ages.events, " "),
                     fmt::join(counts.ages.expected, " "), lives.deaths, lives.exposure,
                     lives.returns, lives.looks);
}

bool ParseCounts(std::span<const std::string> fields, SiteCounts* counts) {
  std::array<double, 4> lives;
  if (!ParseDoubles(fields[0], ' ', counts->ages.events) ||
      !ParseDoubles(fields[1], ' ', counts->ages.expected) ||
      !ParseDoubles(fields[2], ' ', lives)) {
    return false;
  }
  counts->lives = {
      .deaths = lives[0], .exposure = lives[1], .returns = lives[2], .looks = lives[3]};
  return true;
}

}  // namespace

double UnsignalledShare(std::span<const ClassModel> classes) {
  double share = 1;
  for (size_t i = 0; i < classes.size();) {
    const uint8_t source = classes[i].source_class.source();
    double told = 0;
    for (; i < classes.size() && classes[i].source_class.source() == source; ++i) {
      told += classes[i].recall;
    }
    share *= std::max(0.0, 1 - told);
  }
  return std::max(share, kMinUnsignalled);
}

SiteModel::SiteModel(const RatePrior& prior, const AgeCurve& curve, const LifeModel& life,
                     std::vector<ClassModel> classes)
    : prior_(prior),
      curve_(curve),
      life_(life),
      classes_(std::move(classes)),
      unsignalled_(UnsignalledShare(classes_)) {
  for (const ClassModel& model : classes_) {
    DCHECK(model.recall >= 0 && model.recall < 1 && model.false_rate.mean > 0);
    told_ += model.recall;
  }
}

const ClassModel* SiteModel::Find(SourceClass source_class) const {
  for (const ClassModel& model : classes_) {
    if (model.source_class == source_class) return &model;
  }
  return nullptr;
}

bool MovedNotably(const SiteModel& was, const SiteModel& is) {
  const auto near_classes = [](const ClassModel& a, const ClassModel& b) {
    return a.source_class == b.source_class && Near(a.recall, b.recall) &&
           Near(a.false_rate, b.false_rate);
  };
  const auto near_levels = [](double a, double b) { return Near(a, b); };
  const auto same = [](const auto& a, const auto& b, const auto& near) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), near);
  };
  return !Near(was.prior(), is.prior()) || !Near(was.unsignalled(), is.unsignalled()) ||
         !same(was.classes(), is.classes(), near_classes) ||
         !same(was.curve().levels(), is.curve().levels(), near_levels);
}

std::string SerialiseSite(const std::string& host, const SiteModel& site,
                          const SiteCounts& counts) {
  std::string out = fmt::format("{}\t{} {}\t{}\t{} {}\t{}\t", host, site.prior().mean,
                                site.prior().shape, fmt::join(site.curve().levels(), " "),
                                site.life().death_rate, site.life().returns, CountsText(counts));
  for (const ClassModel& model : site.classes()) {
    out += fmt::format("{}:{}:{}:{}:{}:{} ", model.source_class.packed(), model.recall,
                       model.false_rate.mean, model.false_rate.shape, model.signals, model.truth);
  }
  return out;
}

Status ParseSite(std::string_view line, std::string* host, SiteModel* site, SiteCounts* counts) {
  const std::vector<std::string> fields = absl::StrSplit(Text(line), '\t');
  if (fields.size() != 8)
    return InvalidArgument("site model: has {} fields, but must have 8", fields.size());
  std::array<double, 2> prior;
  if (!ParseDoubles(fields[1], ' ', prior) || !(prior[0] > 0) || !(prior[1] > 0)) {
    return InvalidArgument("site model: prior '{}'", fields[1]);
  }
  AgeCurve::Levels levels;
  if (!ParseDoubles(fields[2], ' ', levels) ||
      *std::min_element(levels.begin(), levels.end()) <= 0) {
    return InvalidArgument("site model: curve '{}'", fields[2]);
  }
  std::array<double, 2> life;
  if (!ParseDoubles(fields[3], ' ', life) || !(life[0] > 0) || !(life[1] > 0)) {
    return InvalidArgument("site model: life '{}'", fields[3]);
  }
  SiteCounts read_counts;
  if (!ParseCounts(std::span(fields).subspan(4, kCountFields), &read_counts)) {
    return InvalidArgument("site model: counts of '{}'", fields[0]);
  }
  std::vector<ClassModel> classes;
  for (const auto item : absl::StrSplit(fields[7], ' ', absl::SkipEmpty())) {
    std::array<double, 6> n;
    const bool read = ParseDoubles(std::string_view(item.data(), item.size()), ':', n);
    const double least = classes.empty() ? 0 : classes.back().source_class.packed() + 1;
    if (!read || n[0] < least || n[0] >= kSourceClasses || n[0] != std::floor(n[0]) || n[1] >= 1 ||
        !(n[2] > 0) || !(n[3] > 0)) {
      return InvalidArgument("site model: class '{}'", std::string(item));
    }
    classes.push_back({.source_class = SourceClass(static_cast<uint8_t>(n[0])),
                       .recall = n[1],
                       .false_rate = {.mean = n[2], .shape = n[3]},
                       .signals = n[4],
                       .truth = n[5]});
  }
  *host = fields[0];
  *site = SiteModel({.mean = prior[0], .shape = prior[1]}, AgeCurve(levels),
                    {.death_rate = life[0], .returns = life[1]}, std::move(classes));
  *counts = read_counts;
  return absl::OkStatus();
}

std::string SerialiseSlot(Slot slot, const SiteCounts& counts) {
  return fmt::format("{}{}\t{}", kSlotPrefix, slot.value(), CountsText(counts));
}

bool IsSlotLine(std::string_view line) { return line.substr(0, kSlotPrefix.size()) == kSlotPrefix; }

Status ParseSlot(std::string_view line, Slot* slot, SiteCounts* counts) {
  if (!IsSlotLine(line)) return InvalidArgument("slot: '{}'", line);
  const std::vector<std::string> fields =
      absl::StrSplit(Text(line.substr(kSlotPrefix.size())), '\t');
  std::array<double, 1> number;
  SiteCounts read;
  if (fields.size() != 1 + kCountFields || !ParseDoubles(fields[0], ' ', number) ||
      number[0] >= limits::kSlots || number[0] != std::floor(number[0]) ||
      !ParseCounts(std::span(fields).subspan(1), &read)) {
    return InvalidArgument("slot: '{}'", line);
  }
  *slot = Slot(static_cast<uint16_t>(number[0]));
  *counts = read;
  return absl::OkStatus();
}

}  // namespace freshet
