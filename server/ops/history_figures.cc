#include "server/ops/history_figures.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/api/figure.h"

namespace freshet {
namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Figures FigureMaker::Make(const ServerStatus& status) {
  const Counts before = std::exchange(before_, {.at = status.now});
  const double elapsed = std::max(1e-3, (status.now - before.at).seconds());
  const auto rate = [&](const std::string& name, double now) {
    const double then = before.counters.count(name) > 0 ? before.counters.at(name) : now;
    before_.counters[name] = now;
    return std::max(0.0, now - then) / elapsed;
  };
  Figures figures;
  for (const FigureSection& section : AllFigures()) {
    for (const Figure& figure : section.figures) {
      for (const auto& [label, get, shown] : figure.values) {
        if (shown.plot.empty()) continue;
        const Value value = get(status);
        if (value.is_null()) continue;
        figures[shown.plot] =
            figure.type == FigureType::kCounter ? rate(shown.plot, value) : value.get<double>();
      }
    }
  }
  const double changed =
      rate("changed", static_cast<double>(SumOf(status, &ShardCounters::changed)));
  const double fetched = figures["results_per_second"];
  figures["changed_share"] = fetched > 0 ? changed / fetched : kNoFigure;
  for (const auto& [name, value] : status.annotations) figures[kNotePrefix + name] = value;
  return before.counters.empty() ? Figures() : figures;
}

}  // namespace freshet
