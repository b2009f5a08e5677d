// What an experiment of the papers consists of before it is played.
#ifndef FRESHET_TOOLS_SIM_PAPER_PLAN_H_
#define FRESHET_TOOLS_SIM_PAPER_PLAN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/sim/paper/paper.h"

namespace freshet {

// A part that is played by one thread: values of one series in one repeat. Value type,
// thread-compatible.
struct PaperPart {
  size_t series = 0;
  int repeat = 0;
  size_t first_x = 0;
  double cost = 1;  // relative to the other parts
  // Values of x number first_x, first_x + 1, ...; depends on nothing outside.
  std::function<StatusOr<std::vector<double>>()> play;
};

// Value type, thread-compatible.
struct PaperPlan {
  PaperResult result;  // all but the points
  std::vector<PaperPart> parts;
};

// One experiment. `plan` gets options that are in range. Value type, thread-compatible.
struct PaperExperiment {
  PaperSummary summary;
  bool random = true;      // takes repeats and a seed
  bool many_sizes = true;  // takes several numbers of pages; otherwise at most one
  bool timed = true;       // takes a horizon
  std::function<StatusOr<PaperPlan>(const PaperOptions&)> plan;
};

// All of them, in the order of the papers.
[[nodiscard]] const std::vector<PaperExperiment>& AllPaperExperiments();

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_PLAN_H_
