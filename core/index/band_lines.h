// Lines by columns, for the passes of LineKernels, and tiers of lines.
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

// A bound of the value of the page in `slot`: base + slope (t - origin) until it expires. All lines
// have the origin of the band, so that a line is two numbers and not three; it moves up from time
// to time, because a base far from it would lose digits. Slopes are not negative: values never
// fall. Times are seconds on the clock of the index. Value type, thread-compatible.
struct BandLine {
  double base = 0;
  double slope = 0;
  double expires = 0;
  uint32_t slot = 0;
};

// One number of each line. The column, and so every eighth number, begins at a line of the cache:
// an access across two lines of the cache takes two, and far more across two memory pages.
using LineColumn = std::vector<double, boost::alignment::aligned_allocator<double, 64>>;

// Lines by columns, because a pass reads two numbers of each line and eight of them fit into a
// register. From `size` on base is -infinity, for kLinePadding places at least, so that a pass
// needs no tail. Places change: when a line is erased the last one takes its place, and the caller
// must update the places it keeps. Value type, thread-compatible. No call allocates once vectors
// have their size.
struct BandLines {
  LineColumn base;
  LineColumn slope;
  std::vector<uint32_t> slot;
  uint32_t size = 0;

  // Makes room for `lines` in all.
  void Reserve(size_t lines);
  // The line at place i, without its expiry, which is not held here.
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
  // Moves the last line to place i.
  void Erase(size_t i) {
    Set(i, Get(--size));
    base[size] = -std::numeric_limits<double>::infinity();
  }
  void Clear();
  // `since`: seconds since the origin.
  [[nodiscard]] double At(size_t i, double since) const { return base[i] + slope[i] * since; }
};

// Copies of the lines that may reach `level` before `end`, close together. Pages outside the tier
// are worth less than the level until then, which is all that a pick needs. Any level is right; its
// distance below the price decides the number of lines. Value type, thread-compatible.
struct BandTier : BandLines {
  explicit BandTier(uint32_t number) : id(number) {}
  uint32_t id;  // index of this tier in the places of a slot
  double level = 0;
  Instant since;  // when the tier was filled
  double end = 0;
  double gap = 0;  // level = (1 - gap) price
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_BAND_LINES_H_
