// The parts of an experiment from the papers, before they are played.
#ifndef FRESHET_LAB_PAPER_PLAN_H_
#define FRESHET_LAB_PAPER_PLAN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/paper/paper.h"

namespace freshet {

// A part that one thread plays: the values of one series in one repeat. Value type,
// thread-compatible.
struct PaperPart {
  size_t series = 0;
  int repeat = 0;
  size_t first_x = 0;
  double cost = 1;  // relative to the other parts
  // Returns the values at positions first_x, first_x + 1, ... of the plan's x. The values do not
  // depend on other parts, or on the order in which parts are played.
  std::function<StatusOr<std::vector<double>>()> play;
};

// Value type, thread-compatible.
struct PaperPlan {
  PaperResult result;  // without the points
  std::vector<PaperPart> parts;
};

// An experiment. `plan` is called only with valid options. Value type, thread-compatible.
struct PaperExperiment {
  PaperSummary summary;
  bool random = true;      // has repeats and a seed
  bool many_sizes = true;  // accepts several numbers of pages; otherwise at most one
  bool timed = true;       // accepts a horizon
  std::function<StatusOr<PaperPlan>(const PaperOptions&)> plan;
};

// Returns all experiments, in the order of the papers.
[[nodiscard]] const std::vector<PaperExperiment>& AllPaperExperiments();

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_PLAN_H_
