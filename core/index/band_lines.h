// Bounds of page values as straight lines in time, stored by column for the passes of LineKernels.
// A tier holds copies of some of the lines.
#ifndef FRESHET_CORE_INDEX_BAND_LINES_H_
#define FRESHET_CORE_INDEX_BAND_LINES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "boost/align/aligned_allocator.hpp"
#include "core/base/units.h"
#include "core/index/line_kernels.h"

namespace freshet {

// An upper bound of the value of the page in `slot`. Until the time `expires`, the value at the
// time t is at most base + slope (t - origin). All lines of a band have the same origin. The origin
// moves forward from time to time, because the base loses precision when the origin is far in the
// past. Slopes are not negative, because values never fall. Times are seconds on the clock of the
// index. Value type, thread-compatible.
struct BandLine {
  double base = 0;
  double slope = 0;
  double expires = 0;
  uint32_t slot = 0;
};

// One number of each line. The column begins at the start of a cache line (64 bytes), so no group
// of eight numbers crosses a cache line. An access that crosses a cache line costs as much as two,
// and an access that crosses a memory page is far slower.
using LineColumn = std::vector<double, boost::alignment::aligned_allocator<double, 64>>;

// Lines stored by column, because a pass reads two numbers of each line, and eight numbers fit into
// a register. At least kLinePadding places from `size` on have base -infinity, so that a pass needs
// no extra code for the last few lines. Places change: when a line is erased, the last line takes
// its place, and the caller must update any place that it has stored. Allocates nothing once the
// vectors have grown to their final size. Value type, thread-compatible.
struct BandLines {
  LineColumn base;
  LineColumn slope;
  std::vector<uint32_t> slot;
  uint32_t size = 0;

  // Makes room for `lines` lines in total.
  void Reserve(size_t lines);
  // The line at place i. `expires` is 0, because it is not stored here.
  [[nodiscard]] BandLine Get(size_t i) const { return {base[i], slope[i], 0, slot[i]}; }
  void Set(size_t i, const BandLine& line) {
    base[i] = line.base;
    slope[i] = line.slope;
    slot[i] = line.slot;
  }
  // Appends the line and returns its place.
  uint32_t Join(const BandLine& line) {
    if (size + kLinePadding >= base.size()) Reserve(size_t{size} + 1);
    Set(size, line);
    return size++;
  }
  // Erases the line at place i by moving the last line there.
  void Erase(size_t i) {
    Set(i, Get(--size));
    base[size] = -std::numeric_limits<double>::infinity();
  }
  void Clear();
  // `since`: seconds since the origin.
  [[nodiscard]] double At(size_t i, double since) const { return base[i] + slope[i] * since; }
};

// Copies of the lines that can reach the value `level` before the time `end`, stored together. A
// pick before `end` need not look at other pages, because they are worth less than `level`. Any
// level is correct. It is set somewhat below the price (the value of recent picks), and the gap
// between them decides how many lines the tier has. Value type, thread-compatible.
struct BandTier : BandLines {
  explicit BandTier(uint32_t number) : id(number) {}
  uint32_t id;  // index of this tier in the places of a slot
  double level = 0;
  Instant since;  // when the tier was last filled
  double end = 0;
  double gap = 0;  // level = (1 - gap) price
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_BAND_LINES_H_
