// Experiments of the papers: what each one plays, played over all cores, and what comes out.
#ifndef FRESHET_TOOLS_SIM_PAPER_PAPER_H_
#define FRESHET_TOOLS_SIM_PAPER_PAPER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/sim/mean_and_error.h"
#include "tools/sim/plot/svg_plot.h"

namespace freshet {

// Value type, thread-compatible.
struct PaperOptions {
  int repeats = 10;        // instances to average, 1 .. 1000
  uint64_t seed = 1;       // of instances and events
  std::vector<int> pages;  // instead of the experiment's own; empty: those
  double horizon = 0;      // units of time to play; 0: the experiment's own
  unsigned threads = 0;    // 0: as many as there are cores
};

// What one series has over the repeats at one x. Value type, thread-compatible.
struct PaperPoint {
  MeanAndError value;
  // What it is above the reference on the same instances and events; of the reference itself 0.
  MeanAndError above;
};

// Value type, thread-compatible.
struct PaperSeries {
  std::string name;
  std::vector<PaperPoint> points;  // one for each x
};

// Value type, thread-compatible.
struct PaperResult {
  std::string name;
  std::string title;
  std::string x_name;   // as a column: pages, time
  std::string x_label;  // with its unit, as an axis
  std::string y_label;
  PlotForm form = PlotForm::kLines;
  bool log_x = false;
  bool log_y = false;
  std::vector<std::string> categories;  // names of x = 0, 1, ...; of bars only
  int repeats = 1;                      // 1: nothing is left to chance
  std::vector<double> x;
  std::vector<PaperSeries> series;
  std::optional<size_t> reference;  // the series that the others are held against
};

// How far an experiment is. Value type, thread-compatible.
struct PaperProgress {
  size_t done = 0;  // parts
  size_t parts = 0;
  double share = 0;  // of the work, as far as it can be told beforehand
};

// Value type, thread-compatible.
struct PaperSummary {
  std::string name;
  std::string summary;  // one line
};
[[nodiscard]] std::vector<PaperSummary> PaperExperiments();

// Plays one. The result depends on neither the threads nor which other sizes are played.
// `progress` is called after each part, by one thread at a time. InvalidArgument for options out of
// range, options that the experiment has no use for, and, with all names, for a name that is none.
[[nodiscard]] StatusOr<PaperResult> PlayPaper(
    const std::string& name, const PaperOptions& options,
    const std::function<void(const PaperProgress&)>& progress);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_PAPER_H_
