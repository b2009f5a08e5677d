// The options and results of the papers' experiments, and the function that plays them on all
// cores.
#ifndef FRESHET_LAB_PAPER_PAPER_H_
#define FRESHET_LAB_PAPER_PAPER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/plot/svg_plot.h"
#include "lab/sim/mean_and_error.h"

namespace freshet {

// Value type, thread-compatible.
struct PaperOptions {
  int repeats = 10;        // instances to average, 1 .. 1000
  uint64_t seed = 1;       // seed of instances and events
  std::vector<int> pages;  // numbers of pages; empty = the experiment's own
  double horizon = 0;      // units of time to play; 0 = the experiment's own
  unsigned threads = 0;    // 0 = one per core
};

// A point of a series: all repeats at one x. Value type, thread-compatible.
struct PaperPoint {
  MeanAndError value;
  // The difference from the reference on the same instances and events; 0 for the reference.
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
  std::string x_name;   // column name: pages, time
  std::string x_label;  // axis label, with unit
  std::string y_label;
  PlotForm form = PlotForm::kLines;
  bool log_x = false;
  bool log_y = false;
  std::vector<std::string> categories;  // names of x = 0, 1, ...; only for bars
  int repeats = 1;                      // 1 = nothing is random
  std::vector<double> x;
  std::vector<PaperSeries> series;
  std::optional<size_t> reference;  // index of the series that the others are compared with
};

// The progress of an experiment. Value type, thread-compatible.
struct PaperProgress {
  size_t done = 0;  // parts
  size_t parts = 0;
  double share = 0;  // estimated share of the work that is done
};

// Value type, thread-compatible.
struct PaperSummary {
  std::string name;
  std::string summary;  // one line
};
[[nodiscard]] std::vector<PaperSummary> PaperExperiments();

// Plays an experiment. The result at one size depends neither on the number of threads nor on the
// other sizes. Calls `progress` after each part, on one thread at a time. InvalidArgument: an
// option is out of range, the experiment does not use it, or the name is unknown; the message then
// lists all names.
[[nodiscard]] StatusOr<PaperResult> PlayPaper(
    const std::string& name, const PaperOptions& options,
    const std::function<void(const PaperProgress&)>& progress);

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_PAPER_H_
